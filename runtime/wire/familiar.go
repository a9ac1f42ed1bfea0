package wire

// familiar is short strings that a decoder has read before. Message after message
// has the same methods, names and versions in it: to keep one of each is cheaper
// than to make another.
type familiar [1 << familiarBits]string

const (
	familiarBits = 7
	mostFamiliar = 32 // how long a string may be to be worth it
)

// text returns text as a string, perhaps one that was made before.
func (f *familiar) text(text []byte) string {
	if len(text) > mostFamiliar {
		return string(text)
	}
	s := &f[glance(text)>>(32-familiarBits)]
	if *s != string(text) {
		*s = string(text)
	}
	return *s
}

// glance is a hash of what is cheap to look at. Its upper bits are the best.
func glance(name []byte) uint32 {
	n := len(name)
	if n == 0 {
		return 0
	}
	look := uint32(n) ^ uint32(name[0])<<6 ^ uint32(name[n/2])<<13 ^ uint32(name[n-1])<<24
	return look * 0x9e3779b1
}
