package wire

// fewNames is how many names of one object are compared one by one. An object
// with more of them pays for a set.
const fewNames = 32

// names finds duplicates among the member names of one object. The names
// themselves are on the decoder's stack, on top of those of the objects around
// it.
type names struct {
	object int    // unlike that of every other object of the document
	keys   int    // where the names begin in Decoder.keys
	text   int    // where they begin in Decoder.text
	bloom  uint64 // a bit per name: no bit, no duplicate
}

// nameSpan is where a name stands: in the document, or, when it had to be
// unescaped, in Decoder.text, with both offsets complemented.
type nameSpan struct{ start, end int }

// bigName is a name of an object with many of them.
type bigName struct {
	object int
	name   string
}

func (d *Decoder) openNames() names {
	d.objects++
	return names{object: d.objects, keys: len(d.keys), text: len(d.text)}
}

func (d *Decoder) closeNames(n *names) {
	d.keys, d.text = d.keys[:n.keys], d.text[:n.text]
}

// addName adds the name that d has just read, whose inside is raw and whose
// text is size bytes long. It fails if the object has that name already.
func (d *Decoder) addName(n *names, raw []byte, size int) {
	end := d.pos - 1
	span, name := nameSpan{end - len(raw), end}, raw
	if size != len(raw) {
		start := len(d.text)
		d.text = appendUnescaped(d.text, raw)
		span, name = nameSpan{^start, ^len(d.text)}, d.text[start:]
	}
	bit := uint64(1) << (glance(name) >> 26)
	if n.bloom&bit != 0 && d.hasName(n, name) {
		d.duplicate(string(name))
		return
	}
	n.bloom |= bit
	if len(d.keys)-n.keys < fewNames {
		d.keys = append(d.keys, span)
		return
	}
	d.pushName(n, span, name)
}

func (d *Decoder) nameAt(s nameSpan) []byte {
	if s.start < 0 {
		return d.text[^s.start:^s.end]
	}
	return d.data[s.start:s.end]
}

// lastName is the name that addName added last, before what follows it is read.
func (d *Decoder) lastName() []byte { return d.nameAt(d.keys[len(d.keys)-1]) }

func (d *Decoder) hasName(n *names, name []byte) bool {
	own := d.keys[n.keys:]
	if len(own) > fewNames {
		_, ok := d.many[bigName{n.object, string(name)}]
		return ok
	}
	for _, s := range own {
		if string(d.nameAt(s)) == string(name) {
			return true
		}
	}
	return false
}

// pushName adds a name to an object that has fewNames: the last one is on top of
// the first fewNames, and all of them are in the set.
func (d *Decoder) pushName(n *names, span nameSpan, name []byte) {
	own := d.keys[n.keys:]
	if d.many == nil {
		d.many = make(map[bigName]struct{})
	}
	if len(own) == fewNames {
		for _, s := range own {
			d.many[bigName{n.object, string(d.nameAt(s))}] = struct{}{}
		}
		d.keys = append(d.keys, span)
	}
	d.many[bigName{n.object, string(name)}] = struct{}{}
	d.keys[len(d.keys)-1] = span
}
