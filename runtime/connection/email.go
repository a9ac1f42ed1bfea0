package connection

import (
	"errors"
	"net/netip"
	"strings"
	"unicode/utf8"
)

// checkEmail returns an error unless text is an address in the form of RFC 5322, such as
// "user@example.com". The package net/mail has a parser, but programs that only use pipes should not
// link the packages of the network.
func checkEmail(text string) error {
	at := strings.LastIndexByte(text, '@')
	switch {
	case at < 0:
		return errors.New("no @")
	case !utf8.ValidString(text):
		return errors.New("not UTF-8")
	case !isQuoted(text[:at]) && !isDotAtom(text[:at]):
		return errors.New("invalid text in front of the @")
	case !isDomainLiteral(text[at+1:]) && !isDotAtom(text[at+1:]):
		return errors.New("invalid domain")
	}
	return nil
}

// isDotAtom reports whether text consists of words that are separated by dots.
func isDotAtom(text string) bool {
	for word := range strings.SplitSeq(text, ".") {
		if word == "" || strings.IndexFunc(word, func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune(`()<>[]:;@\,"`, r) }) >= 0 {
			return false
		}
	}
	return true
}

// isQuoted reports whether text is a string in quotation marks that is not empty.
func isQuoted(text string) bool {
	inner, ok := strings.CutPrefix(text, `"`)
	ok = ok && inner != `"`
	for ok && inner != `"` {
		r, size := utf8.DecodeRuneInString(inner)
		if r == '\\' {
			inner = inner[1:]
			r, size = utf8.DecodeRuneInString(inner)
		} else if r == '"' {
			return false
		}
		ok = inner != "" && (r >= ' ' || r == '\t') && r != 0x7f
		inner = inner[min(size, len(inner)):]
	}
	return ok
}

// isDomainLiteral reports whether text is an address of a machine in brackets.
func isDomainLiteral(text string) bool {
	inner, begins := strings.CutPrefix(text, "[")
	inner, ends := strings.CutSuffix(inner, "]")
	address, err := netip.ParseAddr(inner)
	return begins && ends && err == nil && address.Zone() == ""
}
