// What pages are made of besides their text, as it was when this program was built: cli/page/ and
// the distribution's plotting library (cli/cmake/embed_page.cmake).
#pragma once

#include <string_view>

namespace thalweg::cli::page {

std::string_view style();          ///< page/report.css
std::string_view script();         ///< page/report.js
std::string_view plots_script();   ///< page/plots.js
std::string_view chart_js();       ///< Chart.js; empty where the build had none
std::string_view chart_licence();  ///< page/chart.licence

}  // namespace thalweg::cli::page
