use rquickjs::CatchResultExt as _;

use super::*;

fn template() -> Template {
    Template::new(&Arc::default()).expect("a template")
}

/// Runs a script in a copy that was just made, and gives what it says.
fn said(template: &Template, script: &str) -> String {
    let (runtime, context) = template.copy().expect("a copy");
    runtime.set_max_stack_size(512 * 1024);
    context.with(|cx| cx.eval::<String, _>(script).catch(&cx).unwrap_or_else(|error| panic!("{error}")))
}

/// Every pair of templates tells the same words to be addresses, but for where lists end.
#[test]
fn what_is_an_address_does_not_depend_on_where_it_lies() {
    let begun: Vec<Begun> = (0..4).map(|_| Begun::new(&Arc::default()).expect("an engine")).collect();
    let told: Vec<Vec<u32>> = (1..4).map(|at| addresses(&begun[0], &begun[at]).expect("they are alike")).collect();
    assert!(told[0].len() > 5_000, "{}", told[0].len());
    assert!(told.iter().all(|other| *other == told[0]), "{:?}", told.iter().map(Vec::len).collect::<Vec<_>>());
}

/// An address stands in a word of its own, or it would not be seen.
#[test]
fn no_address_stands_across_words() {
    let begun = Begun::new(&Arc::default()).expect("an engine");
    let bytes: Vec<u8> = begun.words().iter().flat_map(|word| word.to_le_bytes()).collect();
    for (at, window) in bytes.windows(WORD).enumerate().filter(|(at, _)| !at.is_multiple_of(WORD)) {
        let word = usize::from_le_bytes(window.try_into().expect("a word"));
        assert!(!begun.has(word), "byte {at}: {word:x}");
    }
}

/// The engine finds such keys by where they lie, and copies lie elsewhere.
#[test]
fn nothing_in_the_template_is_found_by_its_address() {
    let runtime = Runtime::new_with_alloc(Arena::new()).expect("a runtime");
    let context = isolate::context(&runtime).expect("a context");
    let watch = "globalThis.found = [];
        const watch = (kind, method) => {
          const real = kind.prototype[method];
          kind.prototype[method] = function (key, ...rest) {
            if (!['string', 'number', 'boolean', 'undefined'].includes(typeof key)) found.push(new Error().stack);
            return real.call(this, key, ...rest);
          };
        };
        watch(Map, 'set'); watch(Set, 'add'); watch(WeakMap, 'set'); watch(WeakSet, 'add');";
    context.with(|cx| cx.eval::<(), _>(watch).catch(&cx).unwrap_or_else(|error| panic!("{error}")));
    isolate::prepare(&context, &Arc::default()).expect("it begins");
    let found = context.with(|cx| {
        let tried = "new Set([{}]); found.splice(-1).length + ',' + found.join()";
        cx.eval::<String, _>(tried).catch(&cx).unwrap_or_else(|error| panic!("{error}"))
    });
    assert_eq!(found, "1,", "the watch sees one of its own, and no other");
}

/// Whatever a copy does, and however it ends, the template and the next copies know nothing of it.
#[test]
fn copies_are_alike_and_on_their_own() {
    let template = Arc::new(template());
    let before = template.engine.words().to_vec();
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
    assert!(template.engine.words() == before, "nobody wrote to it");
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
