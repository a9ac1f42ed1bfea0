package child

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"
)

// Stats are what a process has used so far, and what it uses now.
type Stats struct {
	// CPU is the time that it computed, in the program and in the system for
	// it, garbage collection included.
	CPU time.Duration
	// Allocs and Bytes are what it has allocated.
	Allocs, Bytes uint64
	// Heap and Stacks are the bytes in use, Objects the number of heap objects.
	Heap, Stacks, Objects uint64
	// Goroutines is how many there are.
	Goroutines int
}

// Self are the stats of this process.
func Self() Stats {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return Stats{
		CPU:    time.Duration(u.Utime.Nano() + u.Stime.Nano()),
		Allocs: m.Mallocs, Bytes: m.TotalAlloc,
		Heap: m.HeapAlloc, Stacks: m.StackInuse, Objects: m.HeapObjects,
		Goroutines: runtime.NumGoroutine(),
	}
}

// answer answers the parent's questions until it has gone, and ends the
// process then.
func answer(questions io.Reader, answers io.Writer) {
	enc := json.NewEncoder(answers)
	for in := bufio.NewReader(questions); ; {
		question, err := in.ReadString('\n')
		if err != nil {
			os.Exit(0)
		}
		if strings.HasPrefix(question, "collect") {
			runtime.GC()
			runtime.GC() // what finalizers let go
			debug.FreeOSMemory()
		}
		if enc.Encode(Self()) != nil {
			os.Exit(0)
		}
	}
}
