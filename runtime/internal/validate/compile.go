package validate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
)

// compiler compiles the schemas of a document. It first checks all of them, and
// then makes a node of each schema that can be reached.
type compiler struct {
	document
	ctx       context.Context
	dialect   dialect
	checked   bool
	refers    bool // a schema has a reference
	checkErr  error
	places    []place // of each value of the document
	count     int     // schemas that were found
	resources []resource
	anchors   []anchor
	index     references

	slab         []node  // unused nodes
	work         []*node // nodes that are not filled yet
	added        []*node // nodes of this compilation
	linked       bool    // a node of this compilation has a reference
	metas        [draft2020 + 1]*node
	dynamicNames map[string]*dynamicTargets
	constants    document
	dynamic      bool
	instructions int // of all patterns
}

// place is what the compiler stores for a value of the document.
type place struct {
	node     *node
	resource int32 // number of the resource plus 1, or 0 if the value is not a schema yet
}

const (
	mostPlaces = 1 << 14 // that a compiler in the pool retains
	cancelStep = 1 << 12 // schemas between two checks of the context
)

var compilers = sync.Pool{New: func() any { return new(compiler) }}

// newCompiler returns a compiler from the pool.
func newCompiler(ctx context.Context) *compiler {
	c := compilers.Get().(*compiler)
	c.start(ctx)
	return c
}

// start prepares a compiler for a document. Only the memory of slices that a
// compiled schema does not use is reused.
func (c *compiler) start(ctx context.Context) {
	*c = compiler{
		ctx:       ctx,
		document:  document{values: c.values[:0]},
		places:    c.places[:0],
		resources: c.resources[:0],
		work:      c.work[:0],
		added:     c.added[:0],
	}
}

// release returns the compiler to the pool.
func (c *compiler) release() {
	if cap(c.places) > mostPlaces || cap(c.values) > mostPlaces {
		return
	}
	clear(c.places)
	clear(c.added)
	clear(c.work)
	clear(c.resources)
	c.start(context.Background()) // drops the context of the caller
	compilers.Put(c)
}

// read parses the document.
func (c *compiler) read(schema []byte) error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	if err := c.parse(schema); err != nil {
		return err
	}
	if n := len(c.values); cap(c.places) < n {
		c.places = make([]place, n)
	} else {
		c.places = c.places[:n]
	}
	return nil
}

// compile compiles the schema at a position. It may be called again after an error.
func (c *compiler) compile(at uint32) (s *Schema, err error) {
	defer recoverError(&err)
	if !c.checked {
		c.checked, c.checkErr = true, c.check()
	}
	if c.checkErr != nil {
		return nil, c.checkErr
	}
	if err = c.place(at, 0); err != nil {
		return nil, err
	}
	c.added, c.linked = c.added[:0], false
	root, err := c.build(at)
	if err != nil {
		c.discard()
		return nil, err
	}
	return &Schema{root: root, constants: c.constants, dynamic: c.dynamic}, nil
}

// build makes the nodes of the schema at a position and of all schemas that it
// refers to.
func (c *compiler) build(at uint32) (*node, error) {
	root := c.node(at)
	for n := 0; len(c.work) > 0; n++ {
		if err := c.cancelled(n); err != nil {
			return nil, err
		}
		last := len(c.work) - 1
		next := c.work[last]
		c.work[last] = nil
		c.work = c.work[:last]
		if err := c.fill(next); err != nil {
			return nil, err
		}
	}
	if c.linked {
		if err := c.link(); err != nil {
			return nil, err
		}
	}
	return root, nil
}

// discard removes the nodes of a compilation that failed.
func (c *compiler) discard() {
	for _, n := range c.added {
		c.places[n.at].node = nil
	}
	clear(c.work)
	c.work, c.dynamicNames = c.work[:0], nil
}

// cancelled returns the error of the context at each step.
func (c *compiler) cancelled(n int) error {
	if n%cancelStep == 0 {
		return c.ctx.Err()
	}
	return nil
}

// check selects the dialect and checks the document.
func (c *compiler) check() error {
	c.dialect = draft2020
	if at, ok := c.member(0, "$schema"); ok && c.values[at].kind == kindString {
		url := c.string(at)
		if c.dialect = dialectOf(url); c.dialect == noDialect {
			if !isURI(url) {
				return newError("/$schema", quote(url)+" is not a valid URI")
			}
			return fmt.Errorf("dialect %q is not part of the schema, and other schemas are not loaded", url)
		}
	}
	c.resources = append(c.resources, resource{url: documentURL})
	if err := c.checkAt(0, 0); err != nil {
		return err
	}
	return c.checkVocabulary()
}

// checkAt checks the schema at a position, which is in a resource.
func (c *compiler) checkAt(at uint32, resource int32) error {
	k := checker{doc: &c.document, dialect: c.dialect, names: keywordNames(), compiler: c}
	k.schema(at, resource)
	if k.err != nil {
		return k.err
	}
	return errorOf(k.problems)
}

// checkVocabulary checks that the vocabularies that the schema requires exist.
func (c *compiler) checkVocabulary() error {
	at, ok := c.member(0, "$vocabulary")
	if !ok || c.dialect < draft2019 {
		return nil
	}
	for i := at + 1; i < c.values[at].end; i = c.after(i + 1) {
		if required, _ := c.boolean(i + 1); required && !isVocabulary(c.string(i), c.dialect) {
			return newError(c.pointer(i), "vocabulary is not supported")
		}
	}
	return nil
}

// isVocabulary reports whether a URL is of a vocabulary of a dialect.
func isVocabulary(url string, d dialect) bool {
	prefix := "https://json-schema.org/draft/2020-12/vocab/"
	if d == draft2019 {
		prefix = "https://json-schema.org/draft/2019-09/vocab/"
	}
	name, ok := strings.CutPrefix(url, prefix)
	switch name {
	case "core", "applicator", "validation", "meta-data", "content":
		return ok
	case "format":
		return ok && d == draft2019
	case "unevaluated", "format-annotation", "format-assertion":
		return ok && d == draft2020
	}
	return false
}

// register stores that the value at a position is a schema, and the resource and
// the anchors that it begins. It returns its resource, and whether the schema was
// known before.
func (k *checker) register(at uint32, inside int32) (resource int32, known bool) {
	c := k.compiler
	p := &c.places[at]
	if p.resource != 0 {
		return 0, true
	}
	if c.count++; c.count > MaxSubschemas {
		k.err = fmt.Errorf("schema has more than %d subschemas", MaxSubschemas)
	} else if err := c.cancelled(c.count); err != nil {
		k.err = err
	}
	resource = c.identify(k, at, inside)
	p.resource = resource + 1
	return resource, false
}

// place ensures that the value at a position is a schema. If it is not one yet, it
// is checked as a part of a resource. After an error, nothing else compiles.
func (c *compiler) place(at uint32, resource int32) error {
	if c.places[at].resource == 0 {
		c.checkErr = c.checkAt(at, resource)
	}
	return c.checkErr
}

// The nodes of the boolean schemas.
var (
	anything = node{}
	nothing  = node{never: true}
)

// maxSlab limits the nodes that are allocated at a time.
const maxSlab = 1 << 10

// node returns the node of the schema at a position, which has a place.
func (c *compiler) node(at uint32) *node {
	p := &c.places[at]
	switch {
	case p.node != nil:
		return p.node
	case c.values[at].kind == kindTrue:
		return &anything
	case c.values[at].kind == kindFalse:
		return &nothing
	}
	if len(c.slab) == 0 {
		c.slab = make([]node, min(max(c.count-len(c.added), 1), maxSlab))
	}
	n := &c.slab[0]
	c.slab = c.slab[1:]
	n.at, n.resource = at, p.resource-1
	p.node = n
	c.work = append(c.work, n)
	c.added = append(c.added, n)
	return n
}

// link checks that no schema refers to itself for the same value, and shortens
// chains of references.
func (c *compiler) link() error {
	if n := findLoop(c.added); n != nil {
		return newError(c.pointer(n.at), "infinite loop: the schema refers to itself for the same value")
	}
	for _, n := range c.added {
		end := n
		for end.forward != nil {
			end = end.forward
		}
		for n.forward != nil && n.forward != end {
			n, n.forward = n.forward, end
		}
	}
	return nil
}

// findLoop returns a node that is compared with the values that it is already
// being compared with, or nil.
func findLoop(nodes []*node) *node {
	type step struct {
		node *node
		next int // of the nodes for the same value
	}
	var path []step
	var same [][]*node
	for _, start := range nodes {
		if start.state != unseen {
			continue
		}
		path, same = append(path, step{node: start}), append(same, start.sameValue())
		start.state = open
		for len(path) > 0 {
			last := len(path) - 1
			if path[last].next == len(same[last]) {
				path[last].node.state = closed
				path, same = path[:last], same[:last]
				continue
			}
			n := same[last][path[last].next]
			path[last].next++
			switch n.state {
			case open:
				return n
			case unseen:
				n.state = open
				path, same = append(path, step{node: n}), append(same, n.sameValue())
			}
		}
	}
	return nil
}

// errNotFound is the cause of an error for a reference.
var errNotFound = errors.New("not found")
