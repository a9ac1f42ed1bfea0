package connection

// A Key is the place of one value of the user's own in the state of each
// connection:
//
//	var visits = connection.NewKey[int]("visits")
//
//	n := visits.Update(connection.From(ctx).State(), func(n int) int { return n + 1 })
//
// Two keys are different places, whatever their names.
type Key[T any] struct{ name string }

// NewKey returns a key. The name is for people.
func NewKey[T any](name string) *Key[T] { return &Key[T]{name} }

// String returns the name.
func (k *Key[T]) String() string { return k.name }

// Get returns the value and whether there is one.
func (k *Key[T]) Get(s *State) (T, bool) {
	var v T
	var has bool
	s.update(func(f *facts) { v, has = f.values[k].(T) })
	return v, has
}

// Set keeps a value.
func (k *Key[T]) Set(s *State, v T) {
	s.update(func(f *facts) { f.setValue(k, v) })
}

// Delete forgets the value.
func (k *Key[T]) Delete(s *State) {
	s.update(func(f *facts) { delete(f.values, k) })
}

// Update replaces the value by what change makes of it, with nothing in
// between, and returns the new one. The change must not use the state.
func (k *Key[T]) Update(s *State, change func(T) T) T {
	var v T
	s.update(func(f *facts) {
		v, _ = f.values[k].(T)
		v = change(v)
		f.setValue(k, v)
	})
	return v
}

func (f *facts) setValue(k, v any) {
	if f.values == nil {
		f.values = make(map[any]any)
	}
	f.values[k] = v
}
