use syclbin_rt::{Buffer, Event, Kernel, Launch, NdRange, Range, Result};

syclbin_rt::include_syclbin! {
    mod kernels = "declared.syclbin";
    unsafe extern "SYCL" {
        safe fn saxpy where x.len() >= n, y.len() >= n, range.dimensions() == 1;
        safe fn raw as image where from.len() >= 1, to.len() >= 1, range.dimensions() == 2;
    }
}

fn line(kernels: &kernels::Module, x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    let n: Event = kernels.saxpy(1.0, x, y, 4).launch([2, 4])?;
    let n: Event = kernels.saxpy(1.0, x, y, 4).launch(NdRange::new([2, 4]))?;
    let n: Event = kernels.saxpy(1.0, x, y, 4).launch(Range::from([1, 2, 4]))?;
    let n: Event = kernels.saxpy(1.0, x, y, 4).launch(())?;
    let mut prepared = kernels.saxpy(1.0, x, y, 4).prepare([2, 4])?;
    prepared.change(kernels.saxpy(1.0, x, y, 4), [2, 4])?;
    kernels.saxpy(1.0, x, y, 4).record(&mut x.device().queue()?.record(), [2, 4])?;
    let [a, b] = kernels.saxpy(1.0, x, y, 4).suggested_local_size([2, 4])?;
    Ok(())
}

fn image(kernels: &kernels::Module, x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    kernels.image(x, y, 4).launch(8)?;
    kernels.image(x, y, 4).launch(NdRange::new(8).local(2))?;
    kernels.image(x, y, 4).launch(NdRange::new([2, 4]).local(2))?;
    kernels.image(x, y, 4).launch(NdRange::new([2, 4]).offset([1, 2, 3]))?;
    Ok(())
}

fn compiled_for_one_size(kernels: &kernels::Module, out: &mut Buffer<i32>) {
    // SAFETY: it does not compile.
    let _ = unsafe { kernels.coords(out).launch([4, 8]) };
}

fn single_task(kernel: &Result<Kernel>) -> Launch<'_, 0, ()> {
    let launch = Launch::new(kernel, &[], []).with_range::<()>();
    // SAFETY: it does not compile.
    let _ = unsafe { launch.launch(1) };
    Launch::new(kernel, &[], []).with_range()
}

fn main() {}
