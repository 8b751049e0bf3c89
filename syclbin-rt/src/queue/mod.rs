//! Queues: every command is checked before the driver sees it, and the last handle waits for what is in flight.

pub(crate) mod barrier;
pub(crate) mod copy;
pub(crate) mod event;
pub(crate) mod future;
pub(crate) mod options;
pub(crate) mod profile;
pub(crate) mod transfer;

use std::fmt;
use std::sync::Arc;

use crate::backend;
use crate::device::Device;
use crate::error::{Error, ErrorKind, Result};
use crate::queue::options::QueueOptions;

/// A queue of one device.
///
/// What is put into a queue runs in that order, one after the other, unless the queue was made
/// [out of order](QueueOptions::out_of_order). Copies wait until they are done, kernels are only
/// started. A clone is the same queue. Buffers can be used on every queue of their device, but a
/// command waits for one of another queue only if it is told to, by [`Launch::after`] or
/// [`Queue::barrier`].
///
/// Its kernels, modules and events are handles of it too. When the last one goes, everything in the
/// queue is waited for, so that nothing runs which nobody can see.
///
/// [`Launch::after`]: crate::Launch::after
#[derive(Clone)]
pub struct Queue(Arc<Inner>);

struct Inner {
    device: Device,
    raw: backend::Queue,
}

impl Device {
    /// A new in-order queue.
    ///
    /// # Errors
    ///
    /// When the driver refuses.
    pub fn queue(&self) -> Result<Queue> {
        self.queue_with(QueueOptions::new())
    }

    /// A new queue that is as `options` say.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`] when the device has no such queues; and when the driver refuses.
    pub fn queue_with(&self, options: QueueOptions) -> Result<Queue> {
        Queue::new(self, options)
    }
}

impl Queue {
    pub(crate) fn new(device: &Device, options: QueueOptions) -> Result<Self> {
        let context = backend::Context::shared(device.found())
            .map_err(|failure| Error::driver(failure, "creating a context", device))?;
        Self::in_context(device, context, options)
    }

    pub(crate) fn in_context(
        device: &Device,
        context: backend::Context,
        options: QueueOptions,
    ) -> Result<Self> {
        let failed = |failure| Error::driver(failure, "creating a queue", device);
        if options != QueueOptions::new() {
            let abilities = backend::Queue::abilities(&context).map_err(failed)?;
            if let Some((what, needs)) = options.beyond(abilities) {
                let device = device.to_string();
                return Err(ErrorKind::Unsupported {
                    what,
                    needs,
                    device,
                }
                .into());
            }
        }
        let raw = backend::Queue::new(context, options).map_err(failed)?;
        let device = device.clone();
        Ok(Self(Arc::new(Inner { device, raw })))
    }

    /// The device it belongs to.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    /// How it was made.
    pub fn options(&self) -> QueueOptions {
        self.0.raw.options()
    }

    /// Waits for everything that was put into this queue.
    ///
    /// # Errors
    ///
    /// When the driver reports a failure.
    pub fn wait(&self) -> Result<()> {
        let finished = self.0.raw.finish();
        finished.map_err(|failure| Error::driver(failure, "waiting for the queue", self.device()))
    }

    /// Whether both are the same queue.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub(crate) fn raw(&self) -> &backend::Queue {
        &self.0.raw
    }
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Queue({})", self.device())
    }
}
