package wire

// The functions in this file find their way through JSON without judging it.
// They are for bytes that were accepted before, or that will be read strictly
// in a moment. On anything else they stay within bounds and make progress.

// skip returns the offset after the value at data[i], -1 if it has no end.
func skip(data []byte, i int) int {
	switch at(data, i) {
	case '"':
		return skipText(data, i)
	case '{', '[':
		return skipNested(data, i)
	}
	for i < len(data) && !endsScalar(data[i]) {
		i++
	}
	return i
}

// skipNested returns the offset after the object or array at data[i].
func skipNested(data []byte, i int) int {
	for depth := 0; i < len(data); {
		switch data[i] {
		case '"':
			if i = skipText(data, i); i < 0 {
				return -1
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return -1
}

// skipText returns the offset after the string at data[i].
func skipText(data []byte, i int) int {
	for i++; ; {
		i, _ = plainEnd(data, i)
		switch at(data, i) {
		case '"':
			return i + 1
		case '\\':
			i++
		}
		if i++; i >= len(data) {
			return -1
		}
	}
}

// skipSpaces returns the offset of the first byte at or after i that is no
// white space.
func skipSpaces(data []byte, i int) int {
	for i < len(data) && isSpace(data[i]) {
		i++
	}
	return i
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func endsScalar(c byte) bool {
	return isSpace(c) || c == ',' || c == ':' || c == ']' || c == '}' || c == '{' || c == '[' || c == '"'
}
