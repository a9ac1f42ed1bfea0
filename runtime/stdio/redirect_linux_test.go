package stdio

import (
	"io"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// osPipe returns a threadReader of a pipe, its descriptor, and the other end of the pipe.
func osPipe(t *testing.T) (io.ReadCloser, int, *os.File) {
	t.Helper()
	before := runtime.GOMAXPROCS(2)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
	var fds [2]int
	require.NoError(t, syscall.Pipe2(fds[:], syscall.O_CLOEXEC))
	in := newThreadReader(fds[0])
	require.NotNil(t, in)
	w := os.NewFile(uintptr(fds[1]), "pipe")
	t.Cleanup(func() { w.Close() })
	return in, fds[0], w
}

func isOpen(fd int) bool {
	var st syscall.Stat_t
	return syscall.Fstat(fd, &st) == nil
}

func TestThreadReaderReadsToTheEnd(t *testing.T) {
	in, fd, w := osPipe(t)
	go func() { // returns after the last write
		for _, text := range []string{"a", "bc"} {
			_, _ = io.WriteString(w, text)
			time.Sleep(time.Millisecond)
		}
		w.Close()
	}()
	got, err := io.ReadAll(in)
	require.NoError(t, err)
	require.Equal(t, "abc", string(got))
	require.NoError(t, in.Close())
	require.False(t, isOpen(fd))
	require.ErrorIs(t, in.Close(), os.ErrClosed)
	_, err = in.Read(make([]byte, 1))
	require.ErrorIs(t, err, os.ErrClosed)
}

func TestCloseInterruptsThreadReader(t *testing.T) {
	in, fd, _ := osPipe(t)
	read := make(chan error)
	go func() { // returns when in is closed
		_, err := in.Read(make([]byte, 1))
		read <- err
	}()
	time.Sleep(10 * time.Millisecond)
	require.NoError(t, in.Close())
	require.ErrorIs(t, <-read, os.ErrClosed)
	require.False(t, isOpen(fd))
}

// TestThreadReaderOfNonblockingPipe waits for data on a pipe that its writer may have set to non-blocking.
func TestThreadReaderOfNonblockingPipe(t *testing.T) {
	in, fd, w := osPipe(t)
	require.NoError(t, syscall.SetNonblock(fd, true))
	go func() { // returns after the last write
		time.Sleep(10 * time.Millisecond)
		_, _ = io.WriteString(w, "a")
	}()
	n, err := in.Read(make([]byte, 1))
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.NoError(t, in.Close())
}

func TestNoThreadReaderWithOneThreadOrLargeDescriptor(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var fds [2]int
	require.NoError(t, syscall.Pipe2(fds[:], syscall.O_CLOEXEC))
	defer syscall.Close(fds[0])
	defer syscall.Close(fds[1])
	require.Nil(t, newThreadReader(fds[0]))
	runtime.GOMAXPROCS(2)
	require.Nil(t, newThreadReader(syscall.FD_SETSIZE))
	require.True(t, isOpen(fds[0]), "descriptor of the caller")
}
