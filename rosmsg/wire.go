package rosmsg

// Wire returns the elements of an array of numbers as they are in the payload, little-endian, without the length
// before them, and nil for other kinds. The bytes are the payload's own.
func (v Value) Wire() []byte {
	if v.Kind() != Array || v.wire.elem.kind >= String {
		return nil
	}
	at := v.off
	if v.wire.length < 0 {
		at += 4
	}
	end := at + v.Len()*int(v.wire.elem.size) // inside the payload: the count was checked when the value was made
	return v.p[at:end:end]
}
