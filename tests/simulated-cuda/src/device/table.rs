// SPDX-License-Identifier: MIT OR Apache-2.0
//! Handles. None is ever used again, so what is gone is not taken for something else.

use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use crate::call::{Code, Outcome};

type Object = Arc<dyn Any + Send + Sync>;

struct Table {
    next: u64,
    objects: HashMap<u64, Object>,
}

static TABLE: LazyLock<Mutex<Table>> = LazyLock::new(|| {
    Mutex::new(Table {
        // No pointer of a program is like this.
        next: 0x00c0_da00_0000_0010,
        objects: HashMap::new(),
    })
});

fn table() -> MutexGuard<'static, Table> {
    TABLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A handle for an object to come.
pub(crate) fn reserve() -> u64 {
    let mut table = table();
    table.next += 16;
    table.next - 16
}

/// Makes an object known by its handle.
pub(crate) fn insert<T: Any + Send + Sync>(handle: u64, object: Arc<T>) {
    table().objects.insert(handle, object);
}

/// The object with a handle.
pub(crate) fn find<T: Any + Send + Sync>(handle: u64) -> Outcome<Arc<T>> {
    let object = table().objects.get(&handle).cloned();
    let object = object.ok_or(Code::CUDA_ERROR_INVALID_HANDLE)?;
    object
        .downcast()
        .map_err(|_| Code::CUDA_ERROR_INVALID_HANDLE)
}

/// Takes an object out.
pub(crate) fn remove<T: Any + Send + Sync>(handle: u64) -> Outcome<Arc<T>> {
    let found = find(handle)?;
    let taken = table().objects.remove(&handle);
    taken.map(|_| found).ok_or(Code::CUDA_ERROR_INVALID_HANDLE)
}

/// Takes out all of a type that fulfil a condition.
pub(crate) fn remove_all<T: Any + Send + Sync>(mut goes: impl FnMut(&T) -> bool) {
    table()
        .objects
        .retain(|_, object| match object.downcast_ref::<T>() {
            Some(found) => !goes(found),
            None => true,
        });
}
