package ir

// errorOf finds the code, and the data where it has members, of an error
// definition. The code is 0 if n is something else.
func errorOf(n node) (int, *objectNode) {
	o, ok := n.(*objectNode)
	if !ok {
		return 0, nil
	}
	if e := o.member("error"); e != nil {
		if o, ok = e.node.(*objectNode); !ok {
			return 0, nil
		}
	}
	code := o.member("code")
	if code == nil {
		return 0, nil
	}
	num, ok := code.node.(*numberNode)
	if !ok {
		return 0, nil
	}
	if d := o.member("data"); d != nil {
		if data, ok := d.node.(*objectNode); ok {
			return num.value, data
		}
	}
	return num.value, nil
}
