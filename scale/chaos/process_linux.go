package chaos

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

var errNoGreeting = errors.New("the target did not accept the connection")

// process is a child of the test. It ends with the test, also if the test is killed while the process is
// stopped.
type process struct {
	cmd   *exec.Cmd
	stdin io.Closer
	ended chan struct{} // closed when the process has ended
}

// starter starts all processes on one thread, because the kernel kills them when the thread ends
// that has started them.
var starter = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() { // ends with the test
		runtime.LockOSThread()
		for f := range work {
			f()
		}
	}()
	return work
})

// startProcess starts a program. The files that it inherits get its output.
func startProcess(cmd *exec.Cmd) (*process, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	result := make(chan error)
	starter() <- func() { result <- cmd.Start() }
	if err := <-result; err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, stdin: stdin, ended: make(chan struct{})}
	go func() { // ends with the process
		defer close(p.ended)
		_ = cmd.Wait()
	}()
	return p, nil
}

// startProgram starts this executable as another program. It returns when the program has printed its
// first line, and returns the line.
func startProgram(c *config, output io.Writer) (*process, string, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return nil, "", err
	}
	path, err := os.Executable()
	if err != nil {
		return nil, "", err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, "", err
	}
	defer read.Close()
	cmd := exec.Command(path)
	cmd.Env = append(os.Environ(), envConfig+"="+string(text))
	cmd.Stdout, cmd.Stderr = write, output
	p, err := startProcess(cmd)
	_ = write.Close()
	if err != nil {
		return nil, "", err
	}
	line, err := bufio.NewReader(read).ReadString('\n')
	if err != nil {
		p.kill()
		return nil, "", fmt.Errorf("%s has not started: %w", c.Name, err)
	}
	return p, strings.TrimSpace(line), nil
}

func (p *process) signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

// kill ends the process at once.
func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	<-p.ended
}

// shutDown asks the process to end, and kills it if it does not.
func (p *process) shutDown(limit time.Duration) (graceful bool) {
	p.signal(syscall.SIGTERM)
	select {
	case <-p.ended:
		return true
	case <-time.After(limit):
		p.kill()
		return false
	}
}

// runs reports whether the process has not ended.
func (p *process) runs() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}
