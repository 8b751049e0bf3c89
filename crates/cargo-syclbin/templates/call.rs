mod kernels;

fn saxpy() -> syclbin_rt::Result<()> {
    let queue = kernels::NAME::Module::best_device()?.queue()?;
    let kernels = kernels::NAME::Module::load(&queue)?;
    let x = queue.upload(&[1.0f32; 64])?;
    let mut y = queue.upload(&[2.0f32; 64])?;
    kernels.saxpy(2.0, &x, &mut y, 64).launch(64)?;
    println!("{}: y[0] = {}", queue.device(), queue.download(&y)?[0]);
    Ok(())
}
