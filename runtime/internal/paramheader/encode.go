package paramheader

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Encode returns text as the value of a header. It returns the text unchanged if a
// header can carry it and it does not look encoded. Otherwise it encodes the text.
func Encode(text string) string {
	if isPlain(text) && !(strings.HasPrefix(text, markOpen) && strings.HasSuffix(text, markClose)) {
		return text
	}
	return markOpen + base64.StdEncoding.EncodeToString([]byte(text)) + markClose
}

// Decode returns the text of the value of a header. If the value has exactly the
// marks of an encoded text, Decode decodes it. Otherwise it returns the value
// unchanged. Each text has only one valid encoding.
func Decode(value string) (string, error) {
	if !isPrintable(value) {
		return "", errUnprintable
	}
	if len(value) >= len(markOpen)+len(markClose) && strings.HasPrefix(value, markOpen) && strings.HasSuffix(value, markClose) {
		return decodeBase64(value[len(markOpen) : len(value)-len(markClose)])
	}
	return value, nil
}

// The marks around an encoded text.
const markOpen, markClose = "=?base64?", "?="

// isPlain reports whether a header can carry text unchanged: it must be printable
// ASCII without a space at either end, because such spaces may be lost.
func isPlain(text string) bool {
	return isPrintable(text) && strings.TrimSpace(text) == text
}

func isPrintable(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' {
			return false
		}
	}
	return true
}

var errUnprintable = errors.New("not printable ASCII")

// decodeBase64 decodes the bytes between the marks.
func decodeBase64(code string) (string, error) {
	text, err := base64.StdEncoding.Strict().DecodeString(code)
	switch {
	case err != nil:
		return "", fmt.Errorf("invalid base64: %w", err)
	case !utf8.Valid(text):
		return "", errors.New("base64 value is not valid UTF-8")
	}
	return string(text), nil
}
