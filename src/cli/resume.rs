//! The command line that goes on with a run that was interrupted, for people to copy.

/// These words with `--resume` among them, quoted for a shell.
pub(crate) fn command(words: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
    let mut words: Vec<Vec<u8>> = words.collect();
    let resume = b"--resume".to_vec();
    if !words.contains(&resume) {
        // After `--` it would be the name of a member.
        let end = words.iter().position(|word| word == b"--");
        words.insert(end.unwrap_or(words.len()), resume);
    }
    let words: Vec<Vec<u8>> = words.iter().map(|word| quoted(word)).collect();
    words.join(&b' ')
}

/// In apostrophes where a shell would not take it as it is; control bytes and what is no UTF-8 with `$'...'`.
fn quoted(word: &[u8]) -> Vec<u8> {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_./=+,:@%".contains(byte);
    if !word.is_empty() && word.iter().all(plain) {
        return word.to_vec();
    }
    let odd = |byte: &u8| byte.is_ascii_control();
    if word.iter().any(odd) || std::str::from_utf8(word).is_err() {
        let mut text = b"$'".to_vec();
        for &byte in word {
            match byte {
                b'\'' | b'\\' => text.extend([b'\\', byte]),
                b' '..=b'~' => text.push(byte),
                _ => text.extend(format!("\\{byte:03o}").bytes()),
            }
        }
        text.push(b'\'');
        return text;
    }
    let mut text = b"'".to_vec();
    for &byte in word {
        match byte {
            b'\'' => text.extend(b"'\\''"),
            _ => text.push(byte),
        }
    }
    text.push(b'\'');
    text
}

#[cfg(test)]
mod tests {
    use super::command;

    fn told(words: &[&[u8]]) -> String {
        String::from_utf8(command(words.iter().map(|word| word.to_vec()))).unwrap()
    }

    #[test]
    fn a_shell_gets_the_same_words_and_one_more() {
        assert_eq!(
            told(&[b"tar", b"xf", b"a b.tar"]),
            "tar xf 'a b.tar' --resume"
        );
        assert_eq!(told(&[b"tar", b"--", b"x"]), "tar --resume -- x");
        assert_eq!(told(&[b"tar", b"--resume", b"x"]), "tar --resume x");
        assert_eq!(told(&[b"tar", b"it's"]), "tar 'it'\\''s' --resume");
        assert_eq!(
            told(&[b"tar", b"a\n\xff'"]),
            "tar $'a\\012\\377\\'' --resume"
        );
    }
}
