package stdio

import "syscall"

// dup2 makes to another descriptor of what from refers to.
func dup2(from, to int) error { return syscall.Dup3(from, to, 0) }
