use std::io;
use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use tokio::io::AsyncReadExt as _;

use super::*;

const BOUNDS: Bounds = Bounds { bytes: 100, frames: 3 };

fn unknown(_: &tokio::io::DuplexStream) -> Option<u64> {
    None
}

#[tokio::test]
async fn a_full_queue_refuses_and_the_order_stays() {
    let (near, mut far) = tokio::io::duplex(4);
    let outbox = Outbox::new(near, BOUNDS, unknown);
    for (text, start) in [("first\n", 0), ("second\n", 6), ("third\n", 13)] {
        assert_eq!(outbox.send(text.into()), Ok(start), "{text}");
    }
    assert_eq!(outbox.send(b"x".to_vec()), Err(NotSent::Full));
    assert_eq!(outbox.send(vec![0; 101]), Err(NotSent::TooLarge));
    assert!(outbox.stuck_since().is_some());
    outbox.close();
    assert_eq!(outbox.send(b"x".to_vec()), Err(NotSent::Closed));
    let mut read = String::new();
    let (drained, _) = tokio::join!(outbox.drain(), far.read_to_string(&mut read));
    assert_eq!((drained, read.as_str()), (Drained::Closed, "first\nsecond\nthird\n"));
}

#[tokio::test]
async fn events_leave_half_of_the_queue_to_others() {
    let (near, _far) = tokio::io::duplex(1);
    let outbox = Outbox::new(near, Bounds { bytes: 100, frames: 4 }, |_| None);
    assert_eq!(outbox.send_if_half_empty(vec![b'x'; 51]), Err(NotSent::TooLarge));
    assert_eq!(outbox.send_if_half_empty(vec![b'x'; 10]), Ok(()));
    assert_eq!(outbox.send_if_half_empty(vec![b'x'; 42]), Err(NotSent::Full), "half of the bytes");
    assert_eq!(outbox.send_if_half_empty(vec![b'x'; 10]), Ok(()));
    assert_eq!(outbox.send_if_half_empty(vec![b'x'; 10]), Err(NotSent::Full), "half of the frames");
    assert!(outbox.send(vec![b'x'; 70]).is_ok(), "a question still goes");
}

#[tokio::test]
async fn a_broken_pipe_ends_the_drainer_and_takes_no_message() {
    let (near, far) = tokio::io::duplex(4);
    drop(far);
    let outbox = Outbox::new(near, BOUNDS, unknown);
    assert_eq!(outbox.send(b"x".to_vec()), Err(NotSent::Closed), "nothing of it has left");
    assert_eq!(outbox.drain().await, Drained::Broken);
    assert_eq!(outbox.send(b"x".to_vec()), Err(NotSent::Closed));
}

#[tokio::test]
async fn a_message_that_has_left_in_part_counts_as_sent() {
    let (near, far) = tokio::io::duplex(4);
    let outbox = Outbox::new(near, BOUNDS, unknown);
    assert_eq!(outbox.send(b"12345678".to_vec()), Ok(0));
    drop(far);
    assert_eq!(outbox.drain().await, Drained::Broken);
}

/// Three messages of four bytes, of which a pipe of ten bytes takes two and a half.
#[tokio::test]
async fn what_nobody_has_read_is_known_once_the_input_is_closed() {
    let cases: [(Unread<_>, [bool; 3]); 6] = [
        (unknown, [false, false, false]),
        (|_| Some(0), [false, false, false]),
        (|_| Some(2), [false, false, true]),
        (|_| Some(5), [false, false, true]),
        (|_| Some(10), [true, true, true]),
        // More than was written: someone else writes too.
        (|_| Some(11), [false, false, false]),
    ];
    for (case, (unread, expected)) in cases.into_iter().enumerate() {
        let (near, _far) = tokio::io::duplex(10);
        let outbox = Outbox::new(near, BOUNDS, unread);
        let starts = ["one\n", "two\n", "six\n"].map(|text| outbox.send(text.into()).expect("room"));
        assert_eq!(starts.map(|start| outbox.never_read(start)), [false; 3], "{case}: still open");
        outbox.abandon();
        assert_eq!(starts.map(|start| outbox.never_read(start)), expected, "{case}");
        outbox.abandon();
        assert_eq!(starts.map(|start| outbox.never_read(start)), expected, "{case}: again");
    }
}

#[tokio::test]
async fn what_has_never_left_the_queue_was_read_by_nobody() {
    let (near, far) = tokio::io::duplex(4);
    let outbox = Outbox::new(near, BOUNDS, unknown);
    let starts = ["one\n", "two\n"].map(|text| outbox.send(text.into()).expect("room"));
    drop(far);
    assert_eq!(outbox.drain().await, Drained::Broken);
    assert_eq!(starts.map(|start| outbox.never_read(start)), [false, true]);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_pipe_tells_what_stands_in_it_once_its_readers_are_gone() {
    let mut command = tokio::process::Command::new("sh");
    command.args(["-c", "read -r line; echo read; exec sleep 600"]);
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().expect("sh");
    let input = child.stdin.take().expect("input");
    let outbox = std::sync::Arc::new(Outbox::new(input, BOUNDS, crate::os::unread));
    let drainer = std::sync::Arc::clone(&outbox);
    let drained = tokio::spawn(async move { drainer.drain().await });
    let first = outbox.send(b"first\n".to_vec()).expect("room");
    let mut said = [0; 5];
    child.stdout.as_mut().expect("output").read_exact(&mut said).await.expect("it has read");
    let second = outbox.send(b"second\n".to_vec()).expect("room");
    assert_eq!(outbox.lock().pipe.as_ref().and_then(crate::os::unread), None, "it may still read");
    child.kill().await.expect("killed");
    assert_eq!(outbox.lock().pipe.as_ref().and_then(crate::os::unread), Some(7));
    assert_eq!(outbox.send(b"third\n".to_vec()), Err(NotSent::Closed));
    assert_eq!(drained.await.expect("no panic"), Drained::Broken);
    assert_eq!([first, second].map(|start| outbox.never_read(start)), [false, true]);
}

#[tokio::test]
async fn room_is_waited_for() {
    let (near, mut far) = tokio::io::duplex(4);
    let outbox = Outbox::new(near, BOUNDS, unknown);
    while outbox.send(b"12345678".to_vec()).is_ok() {}
    assert_eq!(outbox.send_when_room(b"late", Duration::from_millis(5)).await, Err(NotSent::Full));
    let mut taken = [0; 8];
    let (sent, _, _) = tokio::join!(
        outbox.send_when_room(b"late", Duration::from_secs(5)),
        async { tokio::time::timeout(Duration::from_millis(200), outbox.drain()).await.ok() },
        far.read_exact(&mut taken),
    );
    assert_eq!(sent, Ok(()));
}

/// A pipe without threads or time: it holds so many bytes, and its reader may go.
#[derive(Debug, Default)]
struct Pipe {
    capacity: usize,
    held: VecDeque<u8>,
    read: Vec<u8>,
    is_deserted: bool,
}

#[derive(Debug, Clone)]
struct PipeEnd(Arc<Mutex<Pipe>>);

impl PipeEnd {
    fn lock(&self) -> MutexGuard<'_, Pipe> {
        self.0.lock().expect("no test panics here")
    }

    /// As the kernel says it: only once the reader is gone, the number is final.
    fn unread(&self) -> Option<u64> {
        let pipe = self.lock();
        pipe.is_deserted.then_some(pipe.held.len() as u64)
    }

    fn read(&self, count: usize) {
        let mut pipe = self.lock();
        let count = if pipe.is_deserted { 0 } else { count.min(pipe.held.len()) };
        let taken: Vec<u8> = pipe.held.drain(..count).collect();
        pipe.read.extend(taken);
    }
}

impl AsyncWrite for PipeEnd {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let mut pipe = self.lock();
        if pipe.is_deserted {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        let count = bytes.len().min(pipe.capacity - pipe.held.len());
        pipe.held.extend(bytes.iter().take(count));
        if count == 0 { Poll::Pending } else { Poll::Ready(Ok(count)) }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[derive(Debug, Clone)]
enum Step {
    Send(usize),
    Drain,
    Read(usize),
    ReaderGoes,
    Close,
    Abandon,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (1_usize..12).prop_map(Step::Send),
        4 => Just(Step::Drain),
        4 => (1_usize..12).prop_map(Step::Read),
        1 => Just(Step::ReaderGoes),
        1 => Just(Step::Close),
        1 => Just(Step::Abandon),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_was_read_is_never_called_unread(capacity in 1_usize..20, steps in vec(step(), 0..40)) {
        let pipe = PipeEnd(Arc::new(Mutex::new(Pipe { capacity, ..Pipe::default() })));
        let outbox = Outbox::new(pipe.clone(), Bounds { bytes: 30, frames: 4 }, PipeEnd::unread);
        let (mut starts, mut sent, mut has_drained) = (Vec::new(), Vec::new(), false);
        for (number, step) in (0_u8..).zip(steps) {
            match step {
                Step::Send(length) => {
                    if let Ok(start) = outbox.send(vec![number; length]) {
                        prop_assert_eq!(start, sent.len() as u64, "messages follow each other");
                        starts.push(start);
                        sent.extend(vec![number; length]);
                    }
                }
                Step::Drain if !has_drained => {
                    let drain = std::pin::pin!(outbox.drain());
                    has_drained = drain.poll(&mut Context::from_waker(Waker::noop())).is_ready();
                }
                Step::Drain => {}
                Step::Read(count) => pipe.read(count),
                Step::ReaderGoes => pipe.lock().is_deserted = true,
                Step::Close => outbox.close(),
                Step::Abandon => outbox.abandon(),
            }
            let read = pipe.lock().read.len() as u64;
            for start in &starts {
                prop_assert!(!outbox.never_read(*start) || read <= *start, "{read} bytes are read, also of {start}");
            }
        }
        prop_assert!(sent.starts_with(&pipe.lock().read), "in order, nothing twice, nothing that was refused");
        // The caller learns all that can be known: without a reader every byte is accounted for.
        if pipe.lock().is_deserted && outbox.lock().pipe.is_some() {
            outbox.abandon();
            let read = pipe.lock().read.len() as u64;
            for start in starts {
                prop_assert_eq!(outbox.never_read(start), read <= start);
            }
        }
    }
}
