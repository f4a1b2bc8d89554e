// Runs coroutines to their end from a plain test.
#pragma once

#include <utility>  // boost 1.74's awaitable.hpp needs it first

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <future>
#include <stdexcept>

#include "tests/support/deadline.h"

namespace thalweg::test {

/// Runs the context until the result is there; throws when that takes two minutes.
template <class T>
T wait(boost::asio::io_context& context, std::future<T> result) {
  const Deadline end(std::chrono::minutes(2));
  while (result.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    if (end.passed()) throw std::runtime_error("a coroutine does not end");
    context.restart();
    context.run_one_for(std::chrono::milliseconds(50));
  }
  return result.get();
}

/// Starts a coroutine; the context must be run for it to get anywhere.
template <class T>
std::future<T> start_work(boost::asio::io_context& context, boost::asio::awaitable<T> work) {
  return boost::asio::co_spawn(context, std::move(work), boost::asio::use_future);
}

template <class T>
T wait(boost::asio::io_context& context, boost::asio::awaitable<T> work) {
  return wait(context, start_work(context, std::move(work)));
}

}  // namespace thalweg::test
