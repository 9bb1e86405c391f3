package picture

import (
	"image"

	"github.com/gorosbag/gorosbag/internal/view/picture/internal/draw"
)

// figureSide is the width and height that a picture is reduced to before it is measured, at most.
const figureSide = 320

// Figures are what a small picture says about its camera.
type Figures struct {
	// Dark and Bright are the parts of the pixels below 16 and above 239, of 255.
	Dark, Bright float64
	// Sharpness is the variance of the Laplacian. It depends on what is seen, and on the size of the picture:
	// compare only what one camera sees, in pictures made with the same Options.
	Sharpness float64

	// Uniform: all pixels are alike, so that there is nothing to see.
	Uniform bool

	camera bool   // it is a picture of brightness, so that the above mean something
	bytes  uint64 // hash of the picture in the message
}

// Figures measures a picture; ok is false for one that was not decoded: see Options.Pixels.
func (p *Picture) Figures() (f Figures, ok bool) {
	if p.Image == nil {
		return f, false
	}
	img := smallGray(p.Image)
	f = Figures{camera: !p.exact, bytes: p.bytes, Uniform: true}
	for _, v := range img.Pix {
		f.Uniform = f.Uniform && v == img.Pix[0]
		switch {
		case v < 16:
			f.Dark++
		case v > 239:
			f.Bright++
		}
	}
	n := float64(len(img.Pix))
	f.Dark, f.Bright = f.Dark/n, f.Bright/n
	f.Sharpness = sharpness(img)
	return f, true
}

// smallGray returns the brightness of an image of this package, reduced.
func smallGray(img image.Image) *image.Gray {
	b := img.Bounds()
	s := &draw.Source{Width: b.Dx(), Height: b.Dy()}
	switch img := img.(type) {
	case *image.Gray:
		s.Gray = func(x, y int) uint8 { return img.Pix[y*img.Stride+x] }
	case *image.RGBA:
		s.Gray = func(x, y int) uint8 {
			at := img.Pix[y*img.Stride+4*x:]
			// the brightness of ITU-R BT.601
			return uint8((299*int(at[0]) + 587*int(at[1]) + 114*int(at[2]) + 500) / 1000)
		}
	}
	// gray becomes gray
	small, _ := s.Draw(draw.Options{Width: figureSide, Height: figureSide}).Image.(*image.Gray)
	return small
}

// sharpness returns the variance of the Laplacian of four neighbors.
func sharpness(img *image.Gray) float64 {
	var sum, squares, n float64
	w, h := img.Rect.Dx(), img.Rect.Dy()
	for y := 1; y < h-1; y++ {
		row := img.Pix[y*img.Stride:]
		above, below := img.Pix[(y-1)*img.Stride:], img.Pix[(y+1)*img.Stride:]
		for x := 1; x < w-1; x++ {
			v := float64(int(row[x-1]) + int(row[x+1]) + int(above[x]) + int(below[x]) - 4*int(row[x]))
			sum, squares, n = sum+v, squares+v*v, n+1
		}
	}
	if n == 0 {
		return 0
	}
	return squares/n - (sum/n)*(sum/n)
}
