// wrapper DIGITS.neff PICTURE.npy: xrt.hpp where things go well and where they do not. Built as C++17 and C++20.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>
#include <utility>
#include <vector>
#include <xrt.hpp>

static int failures;

static void expect(bool ok, const char *what)
{
    if (!ok) {
        std::cerr << "not so: " << what << "\n";
        failures++;
    }
}

template <class F> static void expect_error(F f, const char *text)
{
    try {
        f();
        std::cerr << "no exception, expected: " << text << "\n";
        failures++;
    } catch (const xrt::error &e) {
        if (std::string(e.what()).find(text) == std::string::npos) {
            std::cerr << "'" << e.what() << "' does not have '" << text << "'\n";
            failures++;
        }
    }
}

static xrt::context open(const char *path)
{
    return xrt::context(xrt::model(path), 1); // the context keeps the model
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    xrt::tensor<float> x({1, 1, 28, 28});
    std::ifstream f(argv[2], std::ios::binary);
    f.seekg(128).read(reinterpret_cast<char *>(x.data()), static_cast<std::streamsize>(x.size() * sizeof(float)));

    xrt::model m(argv[1]);
    expect(m.inputs() == 1 && m.outputs() == 1, "one input and one output");
    expect(std::string(m.input(0).name) == "image", "the input is named image");
    expect_error([&] { m.input(1); }, "no input 1");
    xrt::context c = open(argv[1]);
    c.set_input(0, x);
    c.run();
    auto y = c.output<float>(0);
    expect(y.dims() == xrt::shape{1, 10}, "ten probabilities");
    expect(std::max_element(y.begin(), y.end()) - y.begin() == 7, "the picture is a 7");
    std::vector<float> first(y.begin(), y.end());

    xrt::context moved = std::move(c);
#if __cplusplus >= 202002L
    std::span<const float> pixels = std::as_const(x);
    moved.set_input(0, xrt::view<const float>(pixels, {1, 1, 28, 28}));
    expect_error([&] { xrt::view<const float>(pixels, {28}); }, "784 elements");
#else
    moved.set_input(0, xrt::view<float>(x.data(), {1, 1, 28, 28}));
#endif
    moved.run();
    auto again = moved.output<float>(0);
    expect(std::equal(first.begin(), first.end(), again.begin(), again.end()), "the same result");

    xrt_context_options options = {};
    options.threads = 1;
    options.memory_size = xrt::context::size(m, options);
    std::vector<char> memory(options.memory_size);
    options.memory = memory.data();
    xrt::context placed(m, options);
    placed.set_input(0, x);
    placed.run();
    auto same = placed.output<float>(0);
    expect(same.size() == first.size(), "ten of them in given memory");
    expect(std::equal(first.begin(), first.end(), same.begin(), same.end()), "the same result in given memory");
    options.memory_size = 5000;
    expect_error([&] { xrt::context(m, options); }, "out of memory");

    expect_error([&] { moved.output<std::int64_t>(0); }, "is of f32, not of i64");
    expect_error([&] { xrt::model("/no/such/file"); }, "/no/such/file");
    xrt::tensor<float> wide({1, 1, 56, 14});
    expect_error([&] { moved.set_input(0, wide), moved.run(); }, "image");
    xrt::tensor<std::int32_t> whole({1, 1, 28, 28});
    expect_error([&] { moved.set_input(0, whole), moved.run(); }, "i32");
    expect_error([] { xrt::tensor<float>({-1, 2}); }, "-1");
    expect_error([] { xrt::tensor<float>(xrt::shape(13, 1)); }, "at most 12");
    expect_error([] { xrt::count({INT64_MAX, 4}); }, "dimension");
    if (!failures)
        std::puts("as expected");
    return failures != 0;
}
