use crate::Splitter;
use crate::testing::{PARTS, Random};

/// Returns the pieces of a text by rules, without the braces and the version.
fn pieces(rules: &str, text: &str) -> Vec<String> {
    let splitter = Splitter::parse(&format!(r#"{{"rules":1{rules}}}"#)).unwrap();
    let mut pieces = Vec::new();
    splitter.split(text.as_bytes(), |piece| pieces.push(text_of(piece))).unwrap();
    pieces
}

fn text_of(piece: &[u8]) -> String {
    String::from_utf8_lossy(piece).into_owned()
}

#[test]
fn digits_group_from_the_right() {
    let right = r#","digits":3,"digits_from":"right""#;
    assert_eq!(pieces(right, "1234567"), ["1", "234", "567"]);
    assert_eq!(pieces(right, "123456 x12"), ["123", "456", " x", "12"]);
    assert_eq!(pieces(right, "٣٤٥٦"), ["٣", "٤٥٦"]);
    let gpt2 = r#","base":"gpt2","digits":3,"digits_from":"right""#;
    assert_eq!(pieces(gpt2, "a 1234 567"), ["a", " 1", "234", " 567"]);
    assert_eq!(pieces(r#","digits":1"#, "12"), ["1", "2"]);
    assert_eq!(pieces(r#","digits":"any""#, "12345"), ["12345"]);
}

#[test]
fn case_underscores_and_scripts_end_words() {
    let words = r#","case":"words""#;
    assert_eq!(pieces(words, "camelCase"), ["camel", "Case"]);
    assert_eq!(pieces(words, " PascalCase"), [" Pascal", "Case"]);
    assert_eq!(pieces(words, "ALLCAPSWord HTTP"), ["ALLCAPS", "Word", " HTTP"]);
    assert_eq!(pieces(words, "caféÉcole"), ["café", "École"]);
    assert_eq!(pieces(r#","case":"split""#, "ALLCAPSWordOf"), ["ALLCAPSWord", "Of"]);
    assert_eq!(pieces(r#","case":"ignore""#, "camelCase"), ["camelCase"]);
    let alone = r#","underscores":"alone""#;
    assert_eq!(pieces(alone, "snake_case __x"), ["snake", "_", "case", " ", "__", "x"]);
    assert_eq!(pieces(r#","underscores":"letter""#, "snake_case"), ["snake_case"]);
    assert_eq!(pieces(r#","underscores":"sign""#, "snake_case"), ["snake", "_case"]);
    assert_eq!(pieces(r#","scripts":true"#, "helloмир中文"), ["hello", "мир", "中文"]);
}

#[test]
fn literals_stay_whole_and_words_only_as_words() {
    let words = r#","keep_words":["BRCA1","New York"]"#;
    assert_eq!(pieces(words, "BRCA1 in New York"), ["BRCA1", " in", " ", "New York"]);
    assert_eq!(pieces(words, "BRCA12"), ["BRCA", "12"]);
    assert_eq!(pieces(words, "New Yorker"), ["New", " Yorker"]);
    let space = r#","keep_words":["New York"],"keep_space":true"#;
    assert_eq!(pieces(space, "in New York"), ["in", " New York"]);
    // The leftmost match wins, then the longest, then the first of the list.
    let keep = r#","keep":["ab","abc","bcde"]"#;
    assert_eq!(pieces(keep, "xabcde"), ["x", "abc", "de"]);
    assert_eq!(pieces(r#","keep":["C++"]"#, "in C++."), ["in", " ", "C++", "."]);
}

#[test]
fn regexes_are_cut_out() {
    let date = r#","isolate":[{"regex":"\\d{4}-\\d\\d"}]"#;
    assert_eq!(pieces(date, "on 2024-051"), ["on", " ", "2024-05", "1"]);
    let whole = r#","isolate":[{"regex":"\\d{4}-\\d\\d","whole_word":true}]"#;
    assert_eq!(pieces(whole, "2024-051 2024-05"), ["20", "24", "-", "05", "1", " ", "2024-05"]);
    // The longer of two matches with one start wins, in any order of the list.
    let two = r#","isolate":[{"regex":"ab"},{"regex":"abc"}]"#;
    assert_eq!(pieces(two, "xabcd"), ["x", "abc", "d"]);
}

#[test]
fn runs_are_cut_by_a_lexicon_or_into_groups() {
    let longest = r#","lexicon":[{"script":"Han","words":["研究","研究生","生命","命"]}]"#;
    assert_eq!(pieces(longest, "研究生命x"), ["研究生", "命", "x"]);
    let few =
        r#","lexicon":[{"script":"Han","words":["研究","研究生","生命","起源"],"path":"fewest"}]"#;
    assert_eq!(pieces(few, "研究生命起源"), ["研究", "生命", "起源"]);
    assert_eq!(pieces(few, "国内研究国"), ["国内", "研究", "国"]);
    let dna = r#","base":null,"groups":[{"characters":"ACGT","size":3,"start":1}]"#;
    assert_eq!(pieces(dna, "ACGTACGT>x"), ["A", "CGT", "ACG", "T", ">x"]);
}

#[test]
fn names_the_path_of_a_contradiction() {
    let message =
        |rules: &str| Splitter::parse(&format!(r#"{{"rules":1{rules}}}"#)).unwrap_err().to_string();
    for (rules, expected) in [
        (r#","keep":["a"],"keep_words":["b","a"]"#, r#"keep_words[1]: "a" is also keep[0]"#),
        (r#","keep":[""]"#, "keep[0]: it is empty"),
        (r#","digits_from":"right""#, "digits_from: from the right needs digits"),
        (r#","digits":17"#, "digits: 17 digits; give 1 to 16"),
        (r#","base":null,"digits":3"#, "digits: there is no grammar"),
        (r#","pattern":"\\w+|\\W","marks":true"#, "marks: a pattern of one's own"),
        (r#","base":"gpt2","pattern":"\\w+|\\W""#, "pattern: a base is given too"),
        (r#","isolate":[{"regex":"a*"}]"#, "isolate[0]: \"a*\" can match the empty text"),
        (r#","isolate":[{"regex":"("}]"#, "isolate[0]: \"(\" does not compile"),
        (r#","isolate":[{"regex":"a"},{"regex":"a"}]"#, "isolate[1]: the same regex"),
        (r#","lexicon":[{"script":"Klingon","words":["a"]}]"#, "lexicon[0]: Unicode has no"),
        (r#","lexicon":[{"script":"Thai","words":["a"]}]"#, "lexicon[0].words[0]: \"a\" holds"),
        (r#","lexicon":[{"script":"Thai","words":[]}]"#, "lexicon[0]: it has no words"),
        (r#","groups":[{"characters":"AC","size":0}]"#, "groups[0]: size 0"),
        (
            r#","groups":[{"characters":"AC","size":1},{"characters":"CG","size":2}]"#,
            "groups[1]: 'C' is in groups[0] too",
        ),
        (r#","nonsense":1"#, "unknown field `nonsense`"),
    ] {
        let found = message(rules);
        assert!(found.contains(expected), "{rules}: {found}");
    }
}

#[test]
fn knobs_alone_run_as_published_patterns_do() {
    let choices: [&[&str]; 6] = [
        &["", r#","digits":1"#, r#","digits":3"#, r#","digits":"any""#],
        &[
            "",
            r#","contractions":"none""#,
            r#","contractions":"apart""#,
            r#","contractions":"joined""#,
        ],
        &[
            "",
            r#","leading_space":false"#,
            r#","leading_space":true"#,
            r#","leading_space":"sign""#,
        ],
        &["", r#","newlines":"space""#, r#","newlines":"run""#, r#","newlines":"apart""#],
        &["", r#","marks":true"#, r#","marks":false"#],
        &["", r#","case":"ignore""#, r#","case":"split""#],
    ];
    let mut seen = [0; 2];
    for base in ["nanochat", "gpt2", "cl100k", "o200k"] {
        for mut number in 0..4 * 4 * 4 * 4 * 3 * 3 {
            let mut rules = format!(r#"{{"rules":1,"base":"{base}""#);
            for choice in choices {
                rules += choice[number % choice.len()];
                number /= choice.len();
            }
            let splitter = Splitter::parse(&(rules.clone() + "}")).unwrap();
            assert!(splitter.is_plain() && splitter.has_rules());
            // The letters behind an apostrophe that ends no word would need a third mark.
            let joined =
                rules.contains(r#""joined""#) || base == "o200k" && !rules.contains("contractions");
            let takes_sign =
                rules.contains(r#""sign""#) || base != "gpt2" && !rules.contains("leading_space");
            let expected = if joined && !takes_sign { "automaton" } else { "transducer" };
            assert_eq!(splitter.engine_path().name(), expected, "{rules}");
            seen[usize::from(joined && !takes_sign)] += 1;
            let why = splitter.engine_path().why();
            assert!(!why.contains("vectors do not know"), "{rules}");
        }
    }
    assert!(seen[0] > 4 * seen[1], "{seen:?}");
}

/// Rules of all kinds, for texts of `PARTS`. For example, the first keeps the literal `abc`.
const MIXED: [&str; 9] = [
    r#","keep":["ab","abc","Word\n"],"keep_words":["word","a 1"]"#,
    r#","keep_words":["word","iPhone","a","é","中文"],"keep_space":true"#,
    r#","isolate":[{"regex":"\\d+(?:-\\d+)*","whole_word":true},{"regex":"<[^>]+>"}]"#,
    r#","isolate":[{"regex":"\\bWo"},{"regex":"(?m)^ab"},{"regex":"s$"}],"keep_space":true"#,
    r#","lexicon":[{"script":"Han","words":["中"]},{"script":"Thai","words":["ไท"],"path":"fewest"}]"#,
    r#","base":null,"groups":[{"characters":"ab1","size":2,"start":1}],"keep":["WORD"]"#,
    r#","base":"gpt2","digits":3,"digits_from":"right","case":"words","underscores":"alone","scripts":true"#,
    r#","pattern":"\\w+|\\W","scripts":true,"keep_words":["22 333"]"#,
    r#","base":"o200k","underscores":"letter","keep":["中"],"lexicon":[{"script":"Han","words":["文"]}]"#,
];

#[test]
fn parts_split_as_the_whole_and_joined_they_are_the_text() {
    let mut random = Random(19);
    for rules in MIXED {
        let splitter = Splitter::parse(&format!(r#"{{"rules":1{rules}}}"#)).unwrap();
        let split = |text: &[u8]| {
            let mut pieces: Vec<Vec<u8>> = Vec::new();
            splitter.split(text, |piece| pieces.push(piece.to_vec())).unwrap();
            pieces
        };
        let mut cut = 0;
        for round in 0..3000 {
            let mut text: Vec<u8> = (0..random.below(40))
                .flat_map(|_| PARTS[random.below(PARTS.len())].bytes())
                .collect();
            if round % 4 == 0 && !text.is_empty() {
                let at = random.below(text.len());
                text[at] = 0xFF;
            }
            let whole = split(&text);
            assert_eq!(whole.concat(), text, "{rules}");
            assert!(whole.iter().all(|piece| !piece.is_empty()), "{rules}");
            let parts = splitter.parts(&text, 1 + random.below(20));
            cut += parts.len() - 1;
            let found: Vec<_> = parts.iter().flat_map(|part| split(part)).collect();
            assert_eq!(found, whole, "{rules} on {:?}", String::from_utf8_lossy(&text));
        }
        assert!(cut > 200, "{rules}: {cut}");
    }
}

#[test]
fn stops_when_the_callback_declines() {
    for rules in MIXED {
        let splitter = Splitter::parse(&format!(r#"{{"rules":1{rules}}}"#)).unwrap();
        let text = "ab word 22-333 <a> 中文ไทย aBc_d ".repeat(100);
        for most in [1, 2, 5, 9] {
            let mut found = 0;
            let split = splitter.split(text.as_bytes(), |_| {
                found += 1;
                found < most
            });
            assert_eq!((split, found), (Ok(()), most), "{rules}");
        }
    }
}
