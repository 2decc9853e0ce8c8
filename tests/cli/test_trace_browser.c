/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The page of `gantry trace --html` works in a headless browser of 400 columns without a
 * network, its search filters the tables, and its console stays silent.
 *
 * The browser is chromium or google-chrome, or the program that GANTRY_TEST_BROWSER names. */
#define _XOPEN_SOURCE 700

#include "cli_case.h"
#include "test.h"

/* Of the profile, not of the page: the browser ends as soon as the page has. */
#define BROWSER                                                                               \
    "timeout 60 $browser --headless --no-sandbox --disable-gpu --user-data-dir=$PWD/profile " \
    "--window-size=400,900 --host-resolver-rules='MAP * ~NOTFOUND' --enable-logging=stderr "  \
    "--virtual-time-budget=2000 --dump-dom "

static bool find_browser(void) {
    if (run("for browser in \"$GANTRY_TEST_BROWSER\" chromium chromium-browser google-chrome; do "
            "command -v \"$browser\" && exit 0; done; exit 1") != 0)
        return false;
    output[strcspn(output, "\n")] = '\0';
    (void)setenv("browser", output, 1);
    return run("%s", BROWSER "about:blank 2>/dev/null") == 0;
}

static void make_page(void) {
    expect_run(
        0,
        "for word in abc bad cafe deed fade; do echo $word; done >low; tr a-m n-z <low >high; "
        "GANTRY_BACKENDS=cpu GANTRY_TRACE=t.json $BIN/language_id --device CPU:0 --epochs 2 "
        "--batch 5 --features 64 low=low high=high && $BIN/gantry trace t.json --html page.html");
    expect_run(0, "cat page.html " GANTRY_TRACE_PROBE " >probe.html");
}

TEST(the_page_works_in_a_browser) {
    static const char *const names[] = {"rows", "painted", "filtered", "found",     "dimmed",
                                        "none", "again",   "clicked",  "resources", "narrow"};
    if (!find_browser())
        SKIP_BECAUSE("no browser (chromium, google-chrome, GANTRY_TEST_BROWSER) runs here");
    make_page();
    expect_run(0, BROWSER "file://$PWD/probe.html >dom 2>log && cat dom");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        char text[64];
        (void)snprintf(text, sizeof text, ">test-%s=true;<", names[i]);
        if (!strstr(output, text))
            fail_msg("%s is not in the page\n%.3000s", text,
                     strstr(output, "test-rows") ? strstr(output, "test-rows") : output);
    }
    assert_null(strstr(output, ">test-fetched"));
    /* the probe's own line, the refusal of its request by the page's policy, and advice */
    expect_run(0, "grep CONSOLE log");
    expect_in_output("Content Security Policy");
    expect_in_output("the probe has ended");
    expect_run(0,
               "grep CONSOLE log | grep -v -e 'Content Security Policy' -e 'the probe has ended' "
               "-e willReadFrequently || true");
    assert_string_equal(output, "");
}

int main(void) {
    if (open_folder() != 0) return 1;
    int result = test_main();
    if (result == 0) (void)run("cd / && rm -r %s", folder);
    return result;
}
