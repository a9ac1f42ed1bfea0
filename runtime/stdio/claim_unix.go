//go:build unix && !solaris

package stdio

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"syscall"
	"time"
)

// divert works on the descriptors themselves, so that it holds for C code and
// for children as well.
func divert() (*pipes, error) {
	in, err := keep(0, "standard input")
	if err != nil {
		return nil, err
	}
	out, err := keep(1, "standard output")
	if err != nil {
		in.restore(nil)
		return nil, err
	}
	p := &pipes{in: in.input(), out: out.polled()}
	p.restore = func() {
		in.restore(p.in)
		out.restore(p.out)
	}
	if err := errors.Join(null(0), instead(2, 1)); err != nil {
		p.restore()
		return nil, err
	}
	return p, nil
}

// kept is what a standard descriptor refers to, as long as the descriptor
// itself refers to something else.
type kept struct {
	name     string
	own      int      // the transport's descriptor
	saved    *os.File // for the way back
	fd       int      // of saved
	standard int
	unblock  bool // it was blocking before we had it
}

// keep duplicates a standard descriptor, twice: the transport may close what
// it gets.
func keep(standard int, name string) (*kept, error) {
	saved, err := duplicate(standard)
	if err != nil {
		return nil, fmt.Errorf("take %s: %w", name, err)
	}
	own, err := duplicate(standard)
	if err != nil {
		syscall.Close(saved)
		return nil, fmt.Errorf("take %s: %w", name, err)
	}
	return &kept{name: name, own: own, saved: os.NewFile(uintptr(saved), name), fd: saved, standard: standard}, nil
}

// blocks tells whether reading and writing keep a thread.
func (k *kept) blocks() bool { return k.saved.SetDeadline(time.Time{}) != nil }

// input is the descriptor to read from.
func (k *kept) input() io.ReadCloser {
	if k.blocks() {
		if in := await(k.own); in != nil {
			return in
		}
	}
	return k.polled()
}

// polled is the descriptor with no thread waiting, if that can be.
func (k *kept) polled() *os.File {
	if k.blocks() && pollable(k.fd) {
		// Only then does closing the file wake up those who read or write.
		k.unblock = syscall.SetNonblock(k.fd, true) == nil
	}
	return os.NewFile(uintptr(k.own), k.name)
}

// restore puts things back as they were. The transport's part may be closed.
func (k *kept) restore(own io.Closer) {
	if own == nil {
		syscall.Close(k.own)
	} else {
		own.Close()
	}
	if k.unblock {
		_ = syscall.SetNonblock(k.fd, false)
	}
	_ = dup2(k.fd, k.standard)
	k.saved.Close()
}

// duplicate returns another descriptor of the same thing, which children do
// not inherit.
func duplicate(fd int) (int, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	dup, err := syscall.Dup(fd)
	if err == nil {
		syscall.CloseOnExec(dup)
	}
	return dup, err
}

// pollable tells whether fd can be made non-blocking: a pipe or a socket. A
// terminal is shared with others, who would not expect that, and a file never
// blocks.
func pollable(fd int) bool {
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil {
		return false
	}
	switch st.Mode & syscall.S_IFMT {
	case syscall.S_IFSOCK:
		return true
	case syscall.S_IFIFO:
		// The BSDs do not tell of the end of a pipe that has a name.
		return runtime.GOOS == "linux" || st.Nlink == 0
	}
	return false
}

// instead makes fd another descriptor of what from refers to, or of nothing
// where from is closed.
func instead(from, fd int) error {
	if err := dup2(from, fd); errors.Is(err, syscall.EBADF) {
		return null(fd)
	} else if err != nil {
		return fmt.Errorf("redirect descriptor %d: %w", fd, err)
	}
	return nil
}

// null makes fd refer to nothing.
func null(fd int) error {
	f, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := dup2(int(f.Fd()), fd); err != nil {
		return fmt.Errorf("redirect descriptor %d: %w", fd, err)
	}
	return nil
}
