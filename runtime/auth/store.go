package auth

import (
	"context"
	"sync"
)

// A Store keeps secrets of a client: its tokens, and what it is registered as. It is
// called concurrently. Keys are readable and name a URL; values are JSON. Whoever can
// read a value can act as the client's user, so a file should be its owner's alone.
//
// A key names no user: a program with several of them has one Transport and one Store
// for each. What begins with "client " they may share, so that an issuer registers the
// program only once.
type Store interface {
	// Load returns the value of a key, nil if there is none.
	Load(ctx context.Context, key string) ([]byte, error)
	// Save sets it; nil removes it.
	Save(ctx context.Context, key string, value []byte) error
}

// careful is a store whose panics are errors.
type careful struct{ Store }

func (s careful) Load(ctx context.Context, key string) (value []byte, err error) {
	defer recovered("the store", &err)
	return s.Store.Load(ctx, key)
}

func (s careful) Save(ctx context.Context, key string, value []byte) (err error) {
	defer recovered("the store", &err)
	return s.Store.Save(ctx, key, value)
}

// memory is the store that ends with the program.
type memory struct {
	mu     sync.Mutex
	values map[string][]byte
}

func (m *memory) Load(_ context.Context, key string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.values[key], nil
}

func (m *memory) Save(_ context.Context, key string, value []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.values == nil {
		m.values = map[string][]byte{}
	}
	m.values[key] = value
	return nil
}
