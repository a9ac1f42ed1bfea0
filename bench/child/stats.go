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

// Stats has the resources that a process has used so far, and those that it uses now.
type Stats struct {
	// CPU is the user and system time, with garbage collection.
	CPU time.Duration
	// Allocs and Bytes count all allocations so far.
	Allocs, Bytes uint64
	// Heap and Stacks are the bytes in use, Objects the number of heap objects.
	Heap, Stacks, Objects uint64
	// Goroutines is the number of goroutines.
	Goroutines int
}

// Self returns the statistics of this process.
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

// serveStats responds to the requests of the parent until the parent ends, and then ends the process.
func serveStats(requests io.Reader, responses io.Writer) {
	enc := json.NewEncoder(responses)
	for in := bufio.NewReader(requests); ; {
		request, err := in.ReadString('\n')
		if err != nil {
			os.Exit(0)
		}
		if strings.HasPrefix(request, "collect") {
			runtime.GC()
			runtime.GC() // collects objects that finalizers released
			debug.FreeOSMemory()
		}
		if enc.Encode(Self()) != nil {
			os.Exit(0)
		}
	}
}
