package wire

import "encoding/json"

// Check reports whether data is one JSON value that the decoder accepts,
// nested no deeper than maxDepth (0 is DefaultMaxDepth). An error is a
// *DecodeError.
func Check(data []byte, maxDepth int) error {
	d := newDecoder(data, &Frame{MaxDepth: maxDepth})
	d.value()
	return d.finish()
}

// Compact checks data and returns a copy without the white space between its
// tokens: the form in which raw values are best kept that are sent often, see
// [Frame].Checked.
func Compact(data []byte) (json.RawMessage, error) {
	if err := Check(data, 0); err != nil {
		return nil, err
	}
	out := make([]byte, 0, len(data))
	for i := 0; i < len(data); {
		switch c := data[i]; {
		case isSpace(c):
			i++
		case c == '"':
			end := skipText(data, i)
			out = append(out, data[i:end]...)
			i = end
		default:
			out = append(out, c)
			i++
		}
	}
	return out, nil
}
