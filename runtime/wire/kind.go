package wire

// kindOf classifies the first byte of a value, see Decoder.Kind.
func kindOf(c byte) byte {
	switch c {
	case '{', '[', '"', 't', 'f', 'n':
		return c
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return '0'
	}
	return 0
}

func kindName(kind byte) string {
	switch kind {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	case '0':
		return "a number"
	}
	return "no value"
}

// Kind tells what the next value is, without reading it: '{', '[', '"', 't',
// 'f', 'n', or '0' for a number; 0 where no value begins, and after a failure.
func (d *Decoder) Kind() byte { return kindOf(d.first()) }

// Kind is [Decoder.Kind] for a document of its own, which nobody need have
// checked: it looks no further than to the first byte.
func Kind(document []byte) byte { return kindOf(at(document, skipSpaces(document, 0))) }
