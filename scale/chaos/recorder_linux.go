package chaos

import (
	"encoding/json"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// recorder writes observations to a file. They stay there if the process is killed. It is
// safe for concurrent use.
type recorder struct {
	mu   sync.Mutex
	file *os.File
}

func newRecorder(name string) (*recorder, error) {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	return &recorder{file: file}, err
}

// record adds an observation with the present time.
func (r *recorder) record(o observation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	o.At = clock()
	line, err := json.Marshal(o)
	if err == nil {
		_, err = r.file.Write(append(line, '\n'))
	}
	if err != nil {
		panic(err) // the check would be meaningless
	}
}

// clock returns the time of the machine, which all processes share. It does not jump.
func clock() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err)
	}
	return t.Nano()
}
