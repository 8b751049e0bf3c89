syclbin_rt::include_syclbin! { mod kernels = "NAME"; }

fn main() -> syclbin_rt::Result<()> {
    let queue = kernels::Module::best_device()?.queue()?;
    let kernels = kernels::Module::load(&queue)?;
    kernels.build()?;
    println!("{}: all kernels are compiled", queue.device());

    // A launch of each kernel, with placeholders for its data, sizes and range. Each launch is unsafe: nothing
    // checks that the kernel stays within its buffers.

    LAUNCHES

    Ok(())
}
