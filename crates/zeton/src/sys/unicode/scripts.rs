//! The script of every character, by Unicode 16: for example `é` is Latin and `中` is Han.

use std::sync::LazyLock;

use regex_syntax::hir::{Class, ClassUnicode, HirKind};

use super::CodePointMap;

/// All scripts except `Common` and `Inherited`, whose characters may stand next to any script.
#[rustfmt::skip]
const SCRIPTS: [&str; 168] = [
    "Adlam", "Ahom", "Anatolian_Hieroglyphs", "Arabic", "Armenian", "Avestan", "Balinese", "Bamum",
    "Bassa_Vah", "Batak", "Bengali", "Bhaiksuki", "Bopomofo", "Brahmi", "Braille", "Buginese",
    "Buhid", "Canadian_Aboriginal", "Carian", "Caucasian_Albanian", "Chakma", "Cham", "Cherokee",
    "Chorasmian", "Coptic", "Cuneiform", "Cypriot", "Cypro_Minoan", "Cyrillic", "Deseret",
    "Devanagari", "Dives_Akuru", "Dogra", "Duployan", "Egyptian_Hieroglyphs", "Elbasan", "Elymaic",
    "Ethiopic", "Garay", "Georgian", "Glagolitic", "Gothic", "Grantha", "Greek", "Gujarati",
    "Gunjala_Gondi", "Gurmukhi", "Gurung_Khema", "Han", "Hangul", "Hanifi_Rohingya", "Hanunoo",
    "Hatran", "Hebrew", "Hiragana", "Imperial_Aramaic", "Inscriptional_Pahlavi",
    "Inscriptional_Parthian", "Javanese", "Kaithi", "Kannada", "Katakana", "Kawi", "Kayah_Li",
    "Kharoshthi", "Khitan_Small_Script", "Khmer", "Khojki", "Khudawadi", "Kirat_Rai", "Lao",
    "Latin", "Lepcha", "Limbu", "Linear_A", "Linear_B", "Lisu", "Lycian", "Lydian", "Mahajani",
    "Makasar", "Malayalam", "Mandaic", "Manichaean", "Marchen", "Masaram_Gondi", "Medefaidrin",
    "Meetei_Mayek", "Mende_Kikakui", "Meroitic_Cursive", "Meroitic_Hieroglyphs", "Miao", "Modi",
    "Mongolian", "Mro", "Multani", "Myanmar", "Nabataean", "Nag_Mundari", "Nandinagari",
    "New_Tai_Lue", "Newa", "Nko", "Nushu", "Nyiakeng_Puachue_Hmong", "Ogham", "Ol_Chiki",
    "Ol_Onal", "Old_Hungarian", "Old_Italic", "Old_North_Arabian", "Old_Permic", "Old_Persian",
    "Old_Sogdian", "Old_South_Arabian", "Old_Turkic", "Old_Uyghur", "Oriya", "Osage", "Osmanya",
    "Pahawh_Hmong", "Palmyrene", "Pau_Cin_Hau", "Phags_Pa", "Phoenician", "Psalter_Pahlavi",
    "Rejang", "Runic", "Samaritan", "Saurashtra", "Sharada", "Shavian", "Siddham", "SignWriting",
    "Sinhala", "Sogdian", "Sora_Sompeng", "Soyombo", "Sundanese", "Sunuwar", "Syloti_Nagri",
    "Syriac", "Tagalog", "Tagbanwa", "Tai_Le", "Tai_Tham", "Tai_Viet", "Takri", "Tamil", "Tangsa",
    "Tangut", "Telugu", "Thaana", "Thai", "Tibetan", "Tifinagh", "Tirhuta", "Todhri", "Toto",
    "Tulu_Tigalari", "Ugaritic", "Vai", "Vithkuqi", "Wancho", "Warang_Citi", "Yezidi", "Yi",
    "Zanabazar_Square",
];

static SCRIPT_NUMBERS: LazyLock<CodePointMap> = LazyLock::new(|| {
    let sets = SCRIPTS.map(|name| script_set(name).expect("Unicode has these scripts"));
    CodePointMap::from_sets(&sets)
});

/// Returns the characters of the script with this Unicode name; `None` for an unknown name.
pub(crate) fn script_set(name: &str) -> Option<ClassUnicode> {
    let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphabetic() || c == '_');
    let hir = regex_syntax::parse(&format!(r"\p{{Script={name}}}")).ok().filter(|_| plain)?;
    match hir.into_kind() {
        HirKind::Class(Class::Unicode(set)) => Some(set),
        _ => None,
    }
}

/// Returns the number of a character's script: 1 for `Adlam`, …; 0 for `Common` and `Inherited`.
pub(crate) fn script_number(point: u32) -> u8 {
    SCRIPT_NUMBERS.class_of(point)
}

/// Returns the name of a character's script; `Common` also for inherited scripts.
///
/// ```
/// assert_eq!(zeton::sys::unicode::script_name('中'), "Han");
/// ```
#[must_use]
pub fn script_name(character: char) -> &'static str {
    match script_number(character as u32) {
        0 => "Common",
        number => SCRIPTS[usize::from(number) - 1],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_zero_is_exactly_common_inherited_and_unassigned() {
        let neutral =
            regex_syntax::parse(r"[\p{sc=Common}\p{sc=Inherited}\P{Assigned}\p{Co}]").unwrap();
        let HirKind::Class(Class::Unicode(neutral)) = neutral.kind() else { panic!("a set") };
        for c in '\0'..=char::MAX {
            let at = neutral.ranges().partition_point(|range| range.end() < c);
            let expected = neutral.ranges().get(at).is_some_and(|range| range.start() <= c);
            assert_eq!(script_number(c as u32) == 0, expected, "{c:?}");
        }
    }
}
