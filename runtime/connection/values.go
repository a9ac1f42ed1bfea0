package connection

// A Key is the place of one value of the user's own in the state of each
// connection:
//
//	var visits = connection.NewKey[int]("visits")
//
//	n := visits.Update(connection.FromContext(ctx).State(), func(n int) int { return n + 1 })
//
// Two keys are different places, whatever their names.
type Key[T any] struct{ name string }

// NewKey returns a key. The name is for people.
func NewKey[T any](name string) *Key[T] { return &Key[T]{name} }

// String returns the name.
func (k *Key[T]) String() string { return k.name }

// Get returns the value and whether there is one.
func (k *Key[T]) Get(s *State) (T, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, has := s.values[k].(T)
	return v, has
}

// Set keeps a value.
func (k *Key[T]) Set(s *State, v T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setValue(k, v)
}

// Delete forgets the value.
func (k *Key[T]) Delete(s *State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.values, k)
}

// Update replaces the value by what change makes of it, with nothing in
// between, and returns the new one. The change must not use the state.
func (k *Key[T]) Update(s *State, change func(T) T) T {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, _ := s.values[k].(T)
	v = change(v)
	s.setValue(k, v)
	return v
}

// setValue keeps a value. The lock is held.
func (s *State) setValue(k, v any) {
	if s.values == nil {
		s.values = make(map[any]any)
	}
	s.values[k] = v
}
