//go:build !unix || solaris

package stdio

import "os"

// divert exchanges the files that Go programs know. Descriptors cannot be
// exchanged here, so that C code and children still reach the real ones.
func divert() (*pipes, error) {
	none, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	in, out := os.Stdin, os.Stdout
	os.Stdin, os.Stdout = none, os.Stderr
	return &pipes{lent{in}, lent{out}, func() {
		os.Stdin, os.Stdout = in, out
		none.Close()
	}}, nil
}

// lent is a file that is not ours to close.
type lent struct{ *os.File }

// Close does nothing.
func (lent) Close() error { return nil }
