syclbin_rt::include_syclbin! {
    mod kernels = "NAME";
    // SAFETY: work-item i reads x[i] and y[i] and writes y[i], for i < n. Each launch checks the lengths.
    unsafe extern "SYCL" {
        safe fn saxpy where x.len() >= n, y.len() >= n;
    }
}

const N: usize = 1 << 20;

fn main() -> syclbin_rt::Result<()> {
    let queue = kernels::Module::best_device()?.queue()?;
    let kernels = kernels::Module::load(&queue)?;

    let x = queue.upload(&vec![1.0f32; N])?;
    let mut y = queue.upload(&vec![2.0f32; N])?;
    kernels.saxpy(2.0, &x, &mut y, N as u32).launch(N)?;

    println!("{}: y[0] = {}", queue.device(), queue.download(&y)?[0]);
    Ok(())
}
