//go:build !unix || solaris

package stdio

import "os"

// redirect replaces os.Stdin and os.Stdout. It cannot replace the descriptors here, so
// that C code and child processes still use the original ones.
func redirect() (*standardIO, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	in, out := os.Stdin, os.Stdout
	os.Stdin, os.Stdout = null, os.Stderr
	return &standardIO{unclosable{in}, unclosable{out}, func() {
		os.Stdin, os.Stdout = in, out
		null.Close()
	}}, nil
}

// unclosable is a file whose Close does nothing, because the file is used again
// afterwards.
type unclosable struct{ *os.File }

// Close does nothing.
func (unclosable) Close() error { return nil }
