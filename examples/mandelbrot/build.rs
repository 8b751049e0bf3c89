//! Compiles kernels/mandelbrot.cpp to the file that src/main.rs embeds.

fn main() {
    syclbin_build::Build::new()
        .source("kernels/mandelbrot.cpp")
        .compile("mandelbrot");
}
