// SPDX-License-Identifier: MIT OR Apache-2.0
//! Linking of texts by name. The result is a format of the simulation alone.

use std::ffi::{c_char, c_uint, c_void};
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::sys::CUlinkState;

use super::module::Logs;
use super::{handle, pointer};
use crate::call::{Code, functions, give, give_if};
use crate::device::image::Image;
use crate::device::{context, table};

#[derive(Default)]
struct Link {
    image: Mutex<Image>,
    logs: Mutex<Option<SendLogs>>,
    result: Mutex<Vec<u8>>,
}

/// Logs that are written to when linking ends.
struct SendLogs(Logs);

// SAFETY: the program keeps the buffers as long as the linker lives, and calls it from one thread
// at a time.
unsafe impl Send for SendLogs {}

functions! {
    fn cuLinkCreate_v2(count: c_uint, options: *mut c_uint, values: *mut *mut c_void, to: *mut CUlinkState) {
        context::current()?;
        let logs = Logs::new(count, options, values)?;
        let new = table::reserve();
        give(to, pointer(new))?;
        let link = Link {
            logs: Mutex::new(Some(SendLogs(logs))),
            ..Link::default()
        };
        table::insert(new, Arc::new(link));
        Ok(())
    }

    fn cuLinkAddData_v2(state: CUlinkState, _kind: c_uint, data: *mut c_void, bytes: usize, _name: *const c_char, count: c_uint, options: *mut c_uint, values: *mut *mut c_void) {
        context::current()?;
        let link: Arc<Link> = table::find(handle(state))?;
        let own = Logs::new(count, options, values)?;
        // What is wrong with a text is said at once: it is linked alone only to be read.
        let image = Image::read(data.cast(), Some(bytes)).and_then(|image| {
            image.read_only()?;
            Ok(image)
        });
        let logs = link.logs.lock().unwrap_or_else(PoisonError::into_inner);
        let image = match (&*logs, count) {
            (Some(SendLogs(logs)), 0) => logs.tell(image)?,
            _ => own.tell(image)?,
        };
        let mut all = link.image.lock().unwrap_or_else(PoisonError::into_inner);
        all.texts.extend(image.texts);
        Ok(())
    }

    fn cuLinkComplete(state: CUlinkState, to: *mut *mut c_void, bytes: *mut usize) {
        context::current()?;
        let link: Arc<Link> = table::find(handle(state))?;
        let image = link.image.lock().unwrap_or_else(PoisonError::into_inner);
        let linked = image.link();
        let logs = link.logs.lock().unwrap_or_else(PoisonError::into_inner);
        match &*logs {
            Some(SendLogs(logs)) => logs.tell(linked)?,
            None => return Err(Code::CUDA_ERROR_INVALID_HANDLE),
        };
        let mut result = link.result.lock().unwrap_or_else(PoisonError::into_inner);
        *result = image.pack();
        give(to, result.as_mut_ptr().cast())?;
        give_if(bytes, result.len());
        Ok(())
    }

    fn cuLinkDestroy(state: CUlinkState) {
        context::current_even_if_lost()?;
        table::remove::<Link>(handle(state)).map(|_| ())
    }
}
