// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events and transfers as futures: which tasks wake, when, and how often.

use super::*;

/// Counts how often it was woken, and lets a thread wait for that.
struct Bell {
    rung: AtomicUsize,
    wait: mpsc::Sender<()>,
}

impl Bell {
    fn new() -> (Arc<Self>, Waker, mpsc::Receiver<()>) {
        let (wait, rang) = mpsc::channel();
        let rung = AtomicUsize::new(0);
        let bell = Arc::new(Self { rung, wait });
        (Arc::clone(&bell), Waker::from(bell), rang)
    }

    fn rung(&self) -> usize {
        self.rung.load(Ordering::SeqCst)
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.rung.fetch_add(1, Ordering::SeqCst);
        let _ = self.wait.send(());
    }
}

/// The future of a launch that had not finished when it was polled, and what that is to ring.
struct Pending {
    future: Pin<Box<dyn Future<Output = Result<()>> + Send>>,
    bell: Arc<Bell>,
    waker: Waker,
    rang: mpsc::Receiver<()>,
}

impl Pending {
    /// A launch after several slow ones; should it have finished all the same, it is launched again.
    fn new(kernels: &Kernels, x: &mut Buffer<f32>) -> Result<Self> {
        loop {
            for _ in 0..10 {
                kernels.iota(0.0, x, &[])?;
            }
            let (bell, waker, rang) = Bell::new();
            let future = Box::pin(kernels.iota(1.0, x, &[])?.into_future());
            let mut pending = Self {
                future,
                bell,
                waker,
                rang,
            };
            if pending.poll().is_pending() {
                return Ok(pending);
            }
        }
    }

    fn poll(&mut self) -> Poll<Result<()>> {
        self.poll_with(&self.waker.clone())
    }

    fn poll_with(&mut self, waker: &Waker) -> Poll<Result<()>> {
        self.future.as_mut().poll(&mut Context::from_waker(waker))
    }
}

#[test]
fn future_wakes_its_task_once_when_ready() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let kernels = Kernels::load(&queue)?;
    let mut x = queue.zeroed(N)?;
    let mut pending = Pending::new(&kernels, &mut x)?;
    for _ in 0..3 {
        let _ = pending.poll();
    }
    pending.rang.recv().expect("it is woken");
    assert!(matches!(pending.poll(), Poll::Ready(Ok(()))));
    queue.wait()?;
    assert_eq!(pending.bell.rung(), 1);
    // A command that has finished wakes no task.
    let event = queue.barrier(&[])?;
    event.wait()?;
    let (bell, waker, _rang) = Bell::new();
    let mut future = pin!((&event).into_future());
    let polled = future.as_mut().poll(&mut Context::from_waker(&waker));
    assert!(matches!(polled, Poll::Ready(Ok(()))));
    assert_eq!(bell.rung(), 0);
    Ok(())
}

#[test]
fn only_last_waker_of_future_is_woken() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let kernels = Kernels::load(&queue)?;
    let mut x = queue.zeroed(N)?;
    loop {
        let mut pending = Pending::new(&kernels, &mut x)?;
        let (second, waker, rang) = Bell::new();
        if pending.poll_with(&waker).is_ready() {
            // The first was woken before the second came.
            continue;
        }
        rang.recv().expect("it is woken");
        assert!(matches!(pending.poll_with(&waker), Poll::Ready(Ok(()))));
        assert_eq!((pending.bell.rung(), second.rung()), (0, 1));
        return Ok(());
    }
}

#[test]
fn two_futures_of_event_wake_both_tasks() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let kernels = Kernels::load(&queue)?;
    let mut x = queue.zeroed(N)?;
    loop {
        for _ in 0..10 {
            kernels.iota(0.0, &mut x, &[])?;
        }
        let event = kernels.iota(1.0, &mut x, &[])?;
        let (_first, waker, rang) = Bell::new();
        let (_second, other, also_rang) = Bell::new();
        let (mut one, mut two) = (pin!((&event).into_future()), pin!((&event).into_future()));
        let pending = [(&mut one, &waker), (&mut two, &other)].map(|(future, waker)| {
            let context = &mut Context::from_waker(waker);
            future.as_mut().poll(context).is_pending()
        });
        if pending != [true; 2] {
            continue;
        }
        rang.recv().expect("one is woken");
        also_rang.recv().expect("the other is woken");
        assert!(event.is_complete()?);
        return Ok(());
    }
}

#[test]
fn futures_may_be_dropped_and_moved() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let kernels = Kernels::load(&queue)?;
    let mut x = queue.zeroed(N)?;
    for _ in 0..10 {
        drop(Pending::new(&kernels, &mut x)?);
    }
    let future = Pending::new(&kernels, &mut x)?.future;
    // All other handles of the queue go, and the future is the last.
    drop((x, kernels, queue));
    let thread = std::thread::spawn(move || block_on(future));
    thread.join().expect("no panic")
}

/// The smallest executor there is.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(std::thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

#[test]
fn tasks_await_launches_and_transfers() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let kernels = Kernels::load(&queue)?;
    let sum = block_on(async {
        let mut x = queue.zeroed(N)?;
        let mut y = queue.zeroed(N)?;
        let ones = queue.write_later(&mut x, vec![1.0f32; N])?.await?;
        assert_eq!(ones.len(), N);
        let event = kernels.saxpy(3.0, &x, &mut y, &[])?;
        (&event).await?;
        kernels.saxpy(4.0, &x, &mut y, &[&event])?.await?;
        queue.download_later(&y)?.await
    })?;
    assert_eq!(sum, vec![7.0; N]);
    Ok(())
}

#[test]
fn a_waker_that_panics_takes_nobody_with_it() -> Result<()> {
    struct Broken(mpsc::Sender<()>);
    impl Wake for Broken {
        #[allow(clippy::panic, reason = "what the test is about")]
        fn wake(self: Arc<Self>) {
            let _ = self.0.send(());
            panic!("a broken executor; this message is expected");
        }
    }
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let kernels = Kernels::load(&queue)?;
    let mut x = queue.zeroed(N)?;
    let (send, woke) = mpsc::channel();
    let broken = Waker::from(Arc::new(Broken(send)));
    while Pending::new(&kernels, &mut x)?
        .poll_with(&broken)
        .is_ready()
    {}
    woke.recv().expect("it is woken");
    let pending = Pending::new(&kernels, &mut x)?;
    pending.rang.recv().expect("others still are");
    Ok(())
}

#[test]
fn waker_may_own_last_handles_and_launch() -> Result<()> {
    /// What executors do that poll a task as soon as it is woken, and what it then does.
    struct Task(std::sync::Mutex<Option<Work>>);
    struct Work(Queue, Kernels, Buffer<f32>, mpsc::Sender<Vec<f32>>);
    impl Wake for Task {
        fn wake(self: Arc<Self>) {
            let work = self.0.lock().expect("no panic").take();
            let Some(Work(queue, kernels, mut x, send)) = work else {
                return;
            };
            let launched = kernels.iota(5.0, &mut x, &[]);
            let result = launched.and_then(|_| queue.download(&x));
            let _ = send.send(result.expect("it runs"));
            // The queue goes here, and is waited for.
        }
    }
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    loop {
        let queue = queue.device().queue()?;
        let kernels = Kernels::load(&queue)?;
        let (mut x, y) = (queue.zeroed(N)?, queue.zeroed(1000)?);
        let (send, result) = mpsc::channel();
        let work = Work(queue.clone(), Kernels::load(&queue)?, y, send);
        let task = Arc::new(Task(Some(work).into()));
        let waker = Waker::from(Arc::clone(&task));
        let mut pending = Pending::new(&kernels, &mut x)?;
        if pending.poll_with(&waker).is_ready() {
            continue;
        }
        drop((pending, kernels, queue, task, waker));
        let result = result.recv().expect("the task is woken");
        assert_eq!(result[..2], [5.0, 6.0]);
        return Ok(());
    }
}

#[test]
fn events_transfers_and_their_futures_cross_threads() {
    fn crosses<T: Send + Sync + Unpin + 'static>() {}
    crosses::<Event>();
    crosses::<EventFuture>();
    crosses::<Transfer<f32>>();
    crosses::<TransferFuture<f32>>();
}
