use rquickjs::CatchResultExt as _;

use super::*;

fn template() -> Template {
    Template::made(&Arc::default(), None).expect("a template")
}

/// Runs a script in a copy that was just made, and gives what it says.
fn said(template: &Template, script: &str) -> String {
    let (runtime, context) = template.copy().expect("a copy");
    runtime.set_max_stack_size(512 * 1024);
    context.with(|cx| cx.eval::<String, _>(script).catch(&cx).unwrap_or_else(|error| panic!("{error}")))
}

/// Every pair of engines tells the same words to be addresses, but for where lists end.
#[test]
fn what_is_an_address_does_not_depend_on_where_it_lies() {
    let begun: Vec<Resting> = (0..4).map(|_| begun(&Arc::default()).expect("an engine").0).collect();
    let images: Vec<Image> = (1..4).map(|at| begun[0].image(&begun[at]).expect("they are alike")).collect();
    assert!(images[0].to_bytes().len() > 50_000);
    assert!(images.iter().all(|other| *other == images[0]));
}

/// An address stands in a word of its own, or it would not be seen.
#[test]
fn no_address_stands_across_words() {
    let (begun, _) = begun(&Arc::default()).expect("an engine");
    let Seen { begin, words, .. } = begun.seen();
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    for (at, window) in bytes.windows(WORD).enumerate().filter(|(at, _)| !at.is_multiple_of(WORD)) {
        let word = usize::from_le_bytes(window.try_into().expect("a word"));
        assert!(word.wrapping_sub(begin) > bytes.len(), "byte {at}: {word:x}");
    }
}

/// What is kept is the same after it was read again, and nothing that is not whole is read.
#[test]
fn a_template_is_what_was_kept_of_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let cache = Arc::new(CodeCache::at(folder.path()));
    let made = Template::made(&cache, None).expect("a template");
    let kept = Template::kept(&CodeCache::at(folder.path())).expect("there");
    assert!(kept.name == made.name && kept.bytes == made.bytes && kept.image() == made.image());
    assert_eq!(said(&kept, "[1, 2, 3].map((n) => n * 2).join()"), "2,4,6");
    for length in [0, 8, NAME, HEAD, HEAD + 1, 1_000, made.bytes.len() - 1] {
        let cut = Template::from_bytes(made.bytes[..length].to_vec());
        assert!(cut.is_none_or(|cut| cut.copy().is_none()), "{length} bytes");
    }
}

/// A template that one process has made is another's when that has made the same; until then each has its own.
#[test]
fn processes_agree_on_a_template() {
    let folder = tempfile::tempdir().expect("a folder");
    let cache = Arc::new(CodeCache::at(folder.path()));
    let image = Template::begin(&cache).expect("an image");
    let here = program().expect("a program").0;
    let kept_name = || Template::kept(&cache).expect("kept").name;
    let foreign = |distance: usize, image: &Image| {
        let foreign = Template::new(&[7; NAME], Some(here + distance), image).expect("a template");
        cache.keep_entry(&key_of().expect("a key"), &foreign.bytes).expect("kept");
        foreign
    };
    // They came to the same: it is that very template, for everybody.
    let there = foreign(1 << 12, &image);
    let made = Template::made(&cache, Some(&there)).expect("a template");
    assert_eq!((&made.name, made.made_at, kept_name()), (&there.name, None, there.name.clone()));
    // They cannot tell: this one is for this process, and the other one stays.
    let there = foreign(1 << 16, &image);
    let made = Template::made(&cache, Some(&there)).expect("a template");
    assert!(made.name != there.name && made.made_at == Some(here));
    assert!(made.keep(&cache).is_none());
    assert_eq!(kept_name(), there.name);
    // They came to something else: the next process decides about this one.
    let other = image.clone().in_program(64);
    let there = foreign(1 << 12, &other);
    let made = Template::made(&cache, Some(&there)).expect("a template");
    assert!(made.name != there.name && made.made_at == Some(here));
    assert_eq!(kept_name(), made.name);
    assert_eq!(said(&made, "[1, 2].join()"), "1,2");
}

/// The engine finds such keys by where they lie: by bits that are the same in a copy.
#[test]
fn what_is_found_by_its_address_is_found_in_a_copy() {
    let template = template();
    let fill = "const keep = new Map(), weak = new WeakMap(), keys = [];
        for (let i = 0; i < 3000; i++) { const key = i % 2 ? { i } : Symbol(i); keys.push(key); keep.set(key, i); if (i % 2) weak.set(key, i); }
        globalThis.held = { keep, weak, keys };";
    let look = "held.keys.filter((key, i) => held.keep.get(key) === i && (i % 2 === 0 || held.weak.get(key) === i)).length + ''";
    let filled = || {
        let engine = template.copy_to_keep().expect("a copy");
        engine.context.with(|cx| cx.eval::<(), _>(fill).catch(&cx).unwrap_or_else(|error| panic!("{error}")));
        engine
    };
    let (one, other) = (filled(), filled());
    let difference = template.difference(&one.image(&other).expect("alike")).expect("a difference");
    let kept = Difference::from_bytes(&difference.to_bytes()).expect("whole");
    assert!(kept == difference);
    for _ in 0..20 {
        let (_runtime, context) = template.unfold(&kept).expect("an engine");
        let found = context.with(|cx| cx.eval::<String, _>(look).catch(&cx).unwrap_or_else(|error| panic!("{error}")));
        assert_eq!(found, "3000");
    }
}

/// What is not whole, or was changed, makes no engine; whoever keeps it vouches for it, so it need not be found out.
#[test]
fn half_a_difference_makes_no_engine() {
    let template = template();
    let filled = || {
        let engine = template.copy_to_keep().expect("a copy");
        engine.context.with(|cx| cx.eval::<(), _>("globalThis.x = [1, 2, 3]").expect("runs"));
        engine
    };
    let (one, other) = (filled(), filled());
    let bytes = template.difference(&one.image(&other).expect("alike")).expect("a difference").to_bytes();
    for length in 0..bytes.len() {
        assert!(Difference::from_bytes(&bytes[..length]).is_none(), "{length} bytes");
    }
    assert!(Difference::from_bytes(&[&bytes[..], &[0]].concat()).is_none());
}

/// Whatever a copy does, and however it ends, the template and the next copies know nothing of it.
#[test]
fn copies_are_alike_and_on_their_own() {
    let template = Arc::new(template());
    let before = template.image().expect("an image").clone();
    let spoil = "Object.prototype.evil = 1; Array.prototype.push = null; delete globalThis.URL; Math.random = () => 0;
        const keep = new Map(), ring = {};
        for (let i = 0; i < 20000; i++) { const o = { i, ring }; o.self = o; keep.set(o, 'x'.repeat(i % 300)); }
        ring.keep = keep; globalThis.ring = ring;
        [...keep.keys()].every((key) => keep.has(key)) + '';";
    let look = "[typeof ({}).evil, typeof [].push, 'URL' in globalThis, typeof ring, /^(a+)b$/.exec('aab')[1], JSON.stringify(new Map([[1, 2]]).size)].join();";
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let template = Arc::clone(&template);
            scope.spawn(move || {
                for _ in 0..10 {
                    assert_eq!(said(&template, spoil), "true");
                    assert_eq!(said(&template, look), "undefined,function,true,undefined,aa,1");
                }
            });
        }
    });
    assert!(template.image() == Some(&before), "nobody wrote to it");
}

#[test]
fn every_copy_has_random_numbers_of_its_own() {
    let template = Arc::new(template());
    let numbers = |template: &Template| said(template, "[Math.random(), Math.random(), Math.random.name].join()");
    let here = numbers(&template);
    assert!(here.ends_with(",random"), "{here}");
    let there = std::thread::scope(|scope| scope.spawn(|| numbers(&template)).join().expect("it ran"));
    assert_ne!(here, numbers(&template));
    assert_ne!(here, there);
}

/// A copy that ends gives everything back: the engine itself would stop the process where it finds a value left.
#[test]
fn many_copies_come_and_go() {
    let template = template();
    for at in 0..200 {
        assert_eq!(said(&template, &format!("String({at} + Object.keys(globalThis).length * 0)")), at.to_string());
    }
}
