package auth

import (
	"errors"
	"os"
	"syscall"
)

// errSharingViolation is the error of Windows for a file that another program has opened
// without sharing it.
const errSharingViolation = syscall.Errno(32)

// tryLockFile locks a file, which is created if it is missing. It returns errLocked if
// another program has locked it. The lock ends with the program.
func tryLockFile(path string) (release func(), err error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	handle, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, 0, nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	switch {
	case errors.Is(err, errSharingViolation):
		return nil, errLocked
	case err != nil:
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return func() { _ = syscall.CloseHandle(handle) }, nil
}
