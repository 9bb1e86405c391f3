package bagfmt

// BagHeader is the first record of a 2.0 bag, which its writer completes last.
type BagHeader struct {
	IndexPos    uint64 // where the index section is; 0: the bag was not closed
	Connections uint32 // in the index section
	Chunks      uint32
	Repeated    Repeated
}
