#include "base/signal_queue.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

namespace thalweg {
namespace {

TEST(SignalQueue, GivesSignalsInsteadOfDyingOfThem) {
  // In a thread of its own: the others keep their mask.
  std::thread([] {
    const SignalQueue queue{SIGUSR1, SIGUSR2};
    EXPECT_EQ(queue.next(0), 0);
    pthread_kill(pthread_self(), SIGUSR2);
    EXPECT_EQ(queue.next(-1), SIGUSR2);
    EXPECT_EQ(queue.next(1), 0);
    EXPECT_EQ(sigismember(&queue.before(), SIGUSR2), 0);
  }).join();
}

}  // namespace
}  // namespace thalweg
