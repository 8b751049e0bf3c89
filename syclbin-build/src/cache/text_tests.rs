//! Which changes of a text count.

use super::*;

fn read(text: &str) -> Text {
    Text::read(text.as_bytes())
}

#[track_caller]
fn same(one: &str, other: &str) {
    assert_eq!(
        read(one).folded,
        read(other).folded,
        "{one:?} and {other:?}"
    );
}

#[track_caller]
fn differ(one: &str, other: &str) {
    assert_ne!(
        read(one).folded,
        read(other).folded,
        "{one:?} and {other:?}"
    );
}

#[test]
fn comments_and_white_space_do_not_count() {
    let plain = "#define A 1\nint f(int a) { return a + A; }\n";
    for other in [
        "// first\n#define A 1\nint f(int a) { return a + A; }\n",
        "#define A 1 // one\nint f(int a) { return a + A; }\n",
        "#define A /* over\n lines */ 1\nint f(int a) { return a + A; }\n",
        "/* x */ #define A 1\n\n\n\tint f(int a)\t{ return a + A; } // end",
        "#define A 1\r\nint f(int a) { return a + A; }\r\n",
        "#def\\\nine A 1\nint f(int a) { ret\\  \nurn a + A; }",
        "#define A \\\n 1\nint f(int a) { return a + A; }",
        "// goes on \\\n int hidden;\n#define A 1\nint f(int a) { return a + A; }",
        "/\\\n/ spliced\n#define A 1\nint f(int a) { return a + A; }",
        "/*/ int hidden; */#define A 1\nint f(int a) { return a + A; }",
    ] {
        same(plain, other);
    }
}

#[test]
fn what_a_comment_hides_and_what_it_parts_counts() {
    differ("int a;", "// int a;");
    differ("int a;", "/* int a;");
    differ("int/**/a;", "inta;");
    differ("a/**/+b", "a+b"); // as a macro may make a string of it
    differ("a\n#define B\n", "a #define B\n");
    differ("#define A 1\n2", "#define A 1 2");
    differ("a // \\\nb\nc", "a // \\ \nb\n\nd\nc");
    differ("int a = 1;", "int a = 2;");
}

#[test]
fn strings_stay_as_they_are() {
    differ("s = \"a  b\";", "s = \"a b\";");
    differ("s = \"a // b\";", "s = \"a\";");
    differ("s = \"a /* b\"; t(); /* */", "s = \"a /* b\"; /* */");
    differ(r#"s = "\" // a";"#, r#"s = "\" // b";"#);
    differ(r"c = '\''; // a", r"c = '\'' // a;");
    differ("c = '\"'; // a\nd = '\"';", "c = '\"'; // a\ne = '\"';");
    same("c = '\"'; // a\nd = '\"';", "c = '\"'; // b\nd = '\"';");
    same("c = '/*'; a; /* */", "c = '/*'; a;");
    // One that is not closed ends with its line, as in a text that is left out by `#if 0`.
    differ("#warning a  b\n", "#warning a b\n");
    same("#error don't\nint a; // x's", "#error don't\nint a;");
    differ("don't // a", "don't // b");
    same("\"a\\\\\" // b", "\"a\\\\\" // c");
}

#[test]
fn raw_strings_stay_as_they_are() {
    for prefix in ["R", "LR", "uR", "UR", "u8R"] {
        let with = |body: &str| format!("s = {prefix}\"x({body})x\"; // a");
        differ(&with("// a"), &with("// b"));
        differ(&with("a  b"), &with("a b"));
        differ(&with("a\\\nb"), &with("ab"));
        differ(&with(")\" // a"), &with(")\" // b"));
        same(&with("a"), &with("a").replace("// a", "// b"));
    }
    // A word that ends with R is none.
    same("FOR\"(\" // a", "FOR\"(\" // b");
    assert!(read("R\"no delimiter").unfit.is_some());
}

#[test]
fn separators_of_digits_begin_no_character() {
    same("a = 1'000'000; // a's", "a = 1'000'000; // b's");
    differ("a = 1'000; b = '  ';", "a = 1'000; b = ' ';");
    same("a = 0x1p+3'0 + .5'0; // '", "a = 0x1p+3'0 + .5'0;");
    differ("u8'/*' /*x*/", "u8'/* /*x*/");
}

#[test]
fn headers_are_named_whatever_is_in_their_names() {
    let names = |text: &str| read(text).headers.into_iter().collect::<Vec<_>>();
    assert_eq!(names("#include <a//b.hpp> // c"), ["a//b.hpp"]);
    assert_eq!(names(" # /* x */ include \"it's.hpp\""), ["it's.hpp"]);
    assert_eq!(names("%: include <a.hpp>"), ["a.hpp"]);
    assert_eq!(names("\u{feff}#include_next <a.hpp>"), ["a.hpp"]);
    assert_eq!(names("#if __has_include ( <a b.hpp> )\n"), ["a b.hpp"]);
    assert_eq!(
        names("#if defined(X) && __has_include(\"q.hpp\")\n"),
        ["q.hpp"]
    );
    assert_eq!(names("// #include <a.hpp>\nx #include <b.hpp>"), [""; 0]);
    assert_eq!(names("#ifdef __has_include\n#endif"), [""; 0]);
    differ("#include <a//b.hpp>", "#include <a//c.hpp>");
    same("#include <a//b.hpp> // x", "#include <a//b.hpp>");
}

#[test]
fn what_asks_for_its_line_is_noticed() {
    for text in [
        "int a = __LINE__;",
        "#define HERE f(__LINE__)",
        "assert(a);",
        "SYCL_ASSERT(a);",
        "std::source_location::current()",
        "__builtin_LINE()",
        "__builtin_source_location()",
        "#line 3\n",
        "# 3 \"a.hpp\"\n",
        "__LI\\\nNE__",
    ] {
        assert!(read(text).needs_lines, "{text}");
    }
    for text in [
        "// __LINE__",
        "\"__LINE__\"",
        "R\"(assert(a))\"",
        "static_assert(sizeof(int) == 4);",
        "__COUNTER__",
        "int lines;",
    ] {
        assert!(!read(text).needs_lines, "{text}");
    }
}

#[test]
fn what_depends_on_more_than_texts_is_not_kept() {
    for text in [
        "s = __DATE__;",
        "s = __TIME__;",
        "s = __TIMESTAMP__;",
        "#embed \"a.bin\"\n",
        "#if __has_embed(\"a.bin\")\n",
        "#include HEADER\n",
        "#if __has_include(HEADER)\n",
        "a ??/\n",
        "// note\rint x = 1;",
        "int x;\r",
        "#warning see /* here\nint a; /* */",
        "#  error R\"(\n",
        "#if 0\n#error /\\\n* a\n#endif\n",
    ] {
        assert!(read(text).unfit.is_some(), "{text}");
    }
    for text in [
        "\"__DATE__\"",
        "// #embed",
        "#include <a.hpp>",
        "a ? b : c ??",
        "int a;\r\n#error // don't\r\n",
    ] {
        assert_eq!(read(text).unfit, None, "{text}");
    }
}

#[test]
fn any_bytes_can_be_read() {
    let hostile: [&[u8]; 9] = [
        b"",
        b"\\",
        b"\"",
        b"'",
        b"R\"",
        b"R\"(",
        b"#",
        b"#include",
        b"/*\xff\x00",
    ];
    for text in hostile {
        Text::read(text);
    }
    let text = b"#include <a> /* b */ R\"x(y)x\" 'c' \"d\\\n\" 1'0e+ // e\n%:define F(x) #x\n";
    for length in 0..text.len() {
        Text::read(&text[..length]);
        Text::read(&text[length..]);
    }
}
