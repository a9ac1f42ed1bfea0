package paramheader

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// The marks around the value of a header that plain text cannot carry.
const markOpen, markClose = "=?base64?", "?="

// Encode returns text as the value of a header: as it is, if a header can carry
// it and nobody can take it for something encoded, and encoded otherwise.
func Encode(text string) string {
	if plain(text) && !(strings.HasPrefix(text, markOpen) && strings.HasSuffix(text, markClose)) {
		return text
	}
	return markOpen + base64.StdEncoding.EncodeToString([]byte(text)) + markClose
}

// plain tells whether a header carries the text unharmed: printable ASCII with
// no space at either end, which may get lost on the way.
func plain(text string) bool {
	return printable(text) && strings.TrimSpace(text) == text
}

func printable(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' {
			return false
		}
	}
	return true
}

var errUnprintable = errors.New("not printable ASCII")

// Decode returns the text that the value of a header stands for: what it
// encodes, or the value itself, also where the marks of an encoding are not
// exactly right. There is one encoding for each text; others are refused.
func Decode(value string) (string, error) {
	if !printable(value) {
		return "", errUnprintable
	}
	if len(value) >= len(markOpen)+len(markClose) && strings.HasPrefix(value, markOpen) && strings.HasSuffix(value, markClose) {
		return unmark(value[len(markOpen) : len(value)-len(markClose)])
	}
	return value, nil
}

// unmark returns what is between the marks.
func unmark(code string) (string, error) {
	text, err := base64.StdEncoding.Strict().DecodeString(code)
	switch {
	case err != nil:
		return "", fmt.Errorf("not base64: %w", err)
	case !utf8.Valid(text):
		return "", errors.New("the base64 is of no UTF-8")
	}
	return string(text), nil
}
