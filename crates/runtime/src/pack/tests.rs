use super::*;

const MOST: u64 = 64 << 20;
const PATIENCE: Duration = Duration::from_secs(30);

fn key(number: u32) -> PackKey {
    let mut key = [7; 32];
    key[..4].copy_from_slice(&number.to_le_bytes());
    key
}

fn content(pack: &Pack, number: u32) -> Option<String> {
    pack.read(&key(number)).map(|entry| {
        assert_eq!(entry.tag, [number as u8; 32]);
        String::from_utf8(entry.content).expect("text")
    })
}

fn keep(pack: &Pack, number: u32, text: &str) {
    pack.append(&key(number), &[number as u8; 32], text.as_bytes()).expect("kept");
}

#[test]
fn entries_are_found_by_everybody_and_the_last_one_counts() {
    let folder = tempfile::tempdir().expect("a folder");
    let pack = || Pack::at(folder.path().join("pack"), MOST, PATIENCE);
    let (one, two) = (pack(), pack());
    assert!(content(&one, 1).is_none(), "there is no file yet");
    assert!(!one.path().exists(), "reading makes none");
    keep(&one, 1, "a");
    keep(&two, 2, "b");
    keep(&two, 1, "");
    keep(&one, 3, &"c".repeat(100_000));
    for pack in [&one, &two, &pack()] {
        assert_eq!(content(pack, 1).as_deref(), Some(""));
        assert_eq!(content(pack, 2).as_deref(), Some("b"));
        assert_eq!(content(pack, 3).map(|text| text.len()), Some(100_000));
        assert!(content(pack, 4).is_none() && pack.place(&key(4)).is_none());
        let place = pack.place(&key(2)).expect("it is there");
        assert_eq!(pack.read_at(place).map(|entry| entry.content).as_deref(), Some(&b"b"[..]));
        assert!([place + 1, u64::MAX, u64::MAX - 80].iter().all(|place| pack.read_at(*place).is_none()));
    }
    let mode = fs::metadata(one.path()).expect("there").mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn what_a_dead_writer_left_harms_no_other_entry() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("pack");
    for cut in [1, HEAD - 1, HEAD, HEAD + 2] {
        fs::remove_file(&path).ok();
        let pack = Pack::at(path.clone(), MOST, PATIENCE);
        keep(&pack, 1, "first");
        let whole = fs::metadata(&path).expect("there").len();
        keep(&pack, 2, "second");
        File::options().write(true).open(&path).and_then(|file| file.set_len(whole + cut as u64)).expect("cut");
        for reader in [&pack, &Pack::at(path.clone(), MOST, PATIENCE)] {
            assert_eq!(content(reader, 1).as_deref(), Some("first"), "cut at {cut}");
            assert!(content(reader, 2).is_none(), "cut at {cut}");
        }
        keep(&pack, 3, "third");
        for reader in [&pack, &Pack::at(path.clone(), MOST, PATIENCE)] {
            let told = [1, 2, 3].map(|number| content(reader, number));
            assert_eq!(told, [Some("first".to_owned()), None, Some("third".to_owned())], "cut at {cut}");
        }
    }
}

#[test]
fn a_file_that_is_no_pack_becomes_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("pack");
    let known = Pack::at(path.clone(), MOST, PATIENCE);
    keep(&known, 1, "first");
    for damage in [&b""[..], b"{", &[b'['; 100_000], &[MARK.as_slice(), &[0xff; 72]].concat()] {
        fs::write(&path, damage).expect("written");
        assert!(content(&known, 1).is_none());
        keep(&known, 1, "again");
        assert_eq!(content(&known, 1).as_deref(), Some("again"));
        assert_eq!(content(&Pack::at(path.clone(), MOST, PATIENCE), 1).as_deref(), Some("again"));
    }
    fs::remove_file(&path).expect("removed");
    assert!(content(&known, 1).is_none());
    keep(&known, 1, "anew");
    assert_eq!(content(&Pack::at(path.clone(), MOST, PATIENCE), 1).as_deref(), Some("anew"));
    fs::remove_file(&path).expect("removed");
    fs::create_dir(&path).expect("a folder in its place");
    assert!(content(&known, 1).is_none());
    known.append(&key(1), &[1; 32], b"x").expect_err("no file");
}

#[test]
fn it_stays_small() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("pack");
    let (one, two) = (Pack::at(path.clone(), MOST, PATIENCE), Pack::at(path.clone(), MOST, PATIENCE));
    keep(&one, 0, "stays");
    // The same entry again and again.
    let text = "x".repeat(10_000);
    for _ in 0..1_000 {
        keep(&two, 1, &text);
    }
    assert!(fs::metadata(&path).expect("there").len() <= SMALL + 20_000);
    assert_eq!(content(&one, 0).as_deref(), Some("stays"));
    assert_eq!(content(&one, 1).as_deref(), Some(text.as_str()));
    // Ever other ones: the oldest go.
    let most = 200_000;
    let (one, two) = (Pack::at(path.clone(), most, PATIENCE), Pack::at(path.clone(), most, PATIENCE));
    for number in 2..200 {
        keep(if number % 2 == 0 { &one } else { &two }, number, &text);
        assert!(fs::metadata(&path).expect("there").len() <= most.max(SMALL + 20_000));
    }
    assert!(fs::metadata(&path).expect("there").len() <= most);
    assert!(content(&one, 2).is_none());
    for number in 195..200 {
        assert_eq!(content(&one, number).as_deref(), Some(text.as_str()));
        assert_eq!(content(&two, number).as_deref(), Some(text.as_str()));
    }
    one.append(&key(1), &[1; 32], &vec![0; 150_000]).expect_err("too large");
    let left: Vec<_> = fs::read_dir(folder.path()).expect("listed").flatten().map(|entry| entry.file_name()).collect();
    assert!(left.iter().all(|name| name == "pack" || name == "pack.list"), "{left:?}");
}

#[test]
fn many_write_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("pack");
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let pack = Pack::at(path.clone(), MOST, PATIENCE);
            scope.spawn(move || (0..50).for_each(|number| keep(&pack, writer * 50 + number, &"y".repeat(5_000))));
        }
    });
    let pack = Pack::at(path, MOST, PATIENCE);
    assert!((0..400).all(|number| content(&pack, number).is_some_and(|text| text.len() == 5_000)));
}

#[test]
fn a_link_in_its_place_leads_to_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, real) = (folder.path().join("pack"), folder.path().join("elsewhere"));
    fs::write(&real, "").expect("written");
    std::os::unix::fs::symlink(&real, &path).expect("a link");
    let pack = Pack::at(path.clone(), MOST, PATIENCE);
    keep(&pack, 1, "first");
    keep(&pack, 2, "second");
    assert_eq!(content(&pack, 1).as_deref(), Some("first"));
    assert_eq!(content(&Pack::at(real, MOST, PATIENCE), 2).as_deref(), Some("second"));
}

#[test]
fn whoever_keeps_the_lock_is_not_waited_for_again_and_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("pack");
    let pack = Pack::at(path.clone(), MOST, Duration::from_millis(100));
    keep(&pack, 1, "first");
    let holder = File::open(&path).expect("there");
    holder.lock().expect("locked");
    let began = Instant::now();
    for _ in 0..1_000 {
        let error = pack.append(&key(2), &[2; 32], b"x").expect_err("locked");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
    assert!(began.elapsed() < PAUSE, "one of them waited, the others did not: {:?}", began.elapsed());
    assert_eq!(content(&pack, 1).as_deref(), Some("first"), "reading waits for nobody");
}

#[test]
fn a_file_that_was_changed_in_place_is_looked_at_anew() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("pack");
    let pack = Pack::at(path.clone(), MOST, PATIENCE);
    keep(&pack, 1, "first");
    // The same file, with other and more entries in it.
    let other = folder.path().join("other");
    let full = Pack::at(other.clone(), MOST, PATIENCE);
    (2..5).for_each(|number| keep(&full, number, &"z".repeat(number as usize * 7)));
    fs::write(&path, fs::read(&other).expect("read")).expect("written");
    keep(&pack, 5, "fifth");
    for reader in [&pack, &Pack::at(path.clone(), MOST, PATIENCE)] {
        assert!((2..6).all(|number| content(reader, number).is_some()), "nothing was cut off");
    }
    // A length that nobody ever wrote takes no memory.
    let endless = Head { key: key(9), tag: [9; 32], length: 1 << 40 };
    fs::write(&path, endless.to_bytes()).expect("written");
    File::options().write(true).open(&path).and_then(|file| file.set_len(1 << 41)).expect("a hole");
    let pack = Pack::at(path.clone(), MOST, PATIENCE);
    assert!(content(&pack, 9).is_none());
    keep(&pack, 1, "again");
    assert_eq!(content(&pack, 1).as_deref(), Some("again"));
}

#[test]
fn a_list_saves_looking_and_is_not_believed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("some.pack");
    let pack = || Pack::at(path.clone(), MOST, PATIENCE);
    let first = pack();
    (0..100).for_each(|number| keep(&first, number, &"w".repeat(number as usize)));
    let file = folder.path().join("some.list");
    let list = fs::read(&file).expect("more entries than a list may lack");
    let all = |what: &str| assert!((0..100).all(|number| content(&pack(), number).is_some()), "{what}");
    let opened = pack();
    assert!(content(&opened, 99).is_some());
    assert_eq!(opened.lock().unlisted, 100 - list::LAG, "only what the list lacks was looked at");
    all("as it was written");
    for at in [0, 8, 40, 48, 56, 64, 100, list.len() - 1] {
        let mut wrong = list.clone();
        wrong[at] ^= 1;
        fs::write(&file, wrong).expect("written");
        all(&format!("changed at {at}"));
    }
    for wrong in [&b""[..], &list[..39], &list[..63], &list[..list.len() - 9]] {
        fs::write(&file, wrong).expect("written");
        all("cut short");
    }
    // A list that was right, of a file that was changed in place: who is led astray once looks for itself.
    fs::write(&file, &list).expect("written");
    let other = Pack::at(folder.path().join("other"), MOST, PATIENCE);
    (200..400).for_each(|number| keep(&other, number, &"v".repeat(number as usize)));
    let before = fs::read(&path).expect("read");
    fs::write(&path, fs::read(other.path()).expect("read")).expect("written");
    let astray = pack();
    assert!(content(&astray, 50).is_none());
    assert!((200..400).all(|number| content(&astray, number).is_some()));
    let writer = pack();
    keep(&writer, 500, "more");
    assert!((200..400).chain([500]).all(|number| content(&writer, number).is_some()));
    fs::write(&path, before).expect("written");
    // A list of the file that was here before.
    fs::write(&file, &list).expect("written");
    fs::remove_file(&path).expect("removed");
    let anew = pack();
    assert!((0..100).all(|number| content(&anew, number).is_none()));
    keep(&anew, 1, "anew");
    assert_eq!(content(&pack(), 1).as_deref(), Some("anew"));
}
