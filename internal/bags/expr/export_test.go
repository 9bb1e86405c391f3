package expr

// RememberedTypes returns how many message types p remembers.
func RememberedTypes(p *Program) int { return len(p.types) }

// Partly reports whether p decodes a list only as far as its predicates need it.
func Partly(p *Program) bool {
	for i := range p.paths {
		if p.paths[i].partly() {
			return true
		}
	}
	return false
}
