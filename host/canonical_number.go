package host

import "strconv"

// maxExponent keeps exponents within an int64 with room for the digits before
// and after the point.
const maxExponent = 1 << 40

// number reads a number and writes its exact decimal value the way ECMAScript
// writes numbers. Whatever a double holds comes out as RFC 8785 wants it: its
// digits are the shortest ones, and those are the normal digits of the text.
// Whatever it does not hold keeps its own digits, so that two numbers that
// differ never look the same.
func (r *reader) number(dst []byte) ([]byte, error) {
	negative := r.take('-')
	whole := r.digits()
	switch {
	case len(whole) == 0:
		return nil, r.errorf("a number has no digits")
	case len(whole) > 1 && whole[0] == '0':
		return nil, r.errorf("a number begins with a needless zero")
	}
	var fraction []byte
	if r.take('.') {
		if fraction = r.digits(); len(fraction) == 0 {
			return nil, r.errorf("a number has no digits after its point")
		}
	}
	exponent, err := r.exponent()
	if err != nil {
		return nil, err
	}
	digits := append(append([]byte(nil), whole...), fraction...)
	point := len(whole)
	for len(digits) > 0 && digits[0] == '0' {
		digits, point = digits[1:], point-1
	}
	for len(digits) > 0 && digits[len(digits)-1] == '0' {
		digits = digits[:len(digits)-1]
	}
	if len(digits) == 0 {
		return append(dst, '0'), nil
	}
	if exponent > maxExponent || exponent < -maxExponent {
		return nil, r.errorf("a number has an exponent beyond %d", int64(maxExponent))
	}
	if negative {
		dst = append(dst, '-')
	}
	return appendDecimal(dst, digits, int64(point)+exponent), nil
}

func (r *reader) digits() []byte {
	start := r.at
	for isDigit(r.peek()) {
		r.at++
	}
	return r.text[start:r.at]
}

// exponent reads the exponent if there is one. One that is too large comes
// back as such and not as an error, since it does not matter for zero.
func (r *reader) exponent() (int64, error) {
	if !r.take('e') && !r.take('E') {
		return 0, nil
	}
	negative := r.take('-')
	if !negative {
		r.take('+')
	}
	digits := r.digits()
	if len(digits) == 0 {
		return 0, r.errorf("a number has no digits in its exponent")
	}
	exponent := int64(0)
	for _, b := range digits {
		exponent = min(10*exponent+int64(b-'0'), maxExponent+1)
	}
	if negative {
		return -exponent, nil
	}
	return exponent, nil
}

// appendDecimal writes 0.DIGITS times ten to the power of point in the layout
// of ECMAScript's Number::toString.
func appendDecimal(dst, digits []byte, point int64) []byte {
	length := int64(len(digits))
	switch {
	case length <= point && point <= 21:
		dst = append(dst, digits...)
		return appendZeros(dst, point-length)
	case 0 < point && point <= 21:
		dst = append(dst, digits[:point]...)
		return append(append(dst, '.'), digits[point:]...)
	case -6 < point && point <= 0:
		dst = appendZeros(append(dst, "0."...), -point)
		return append(dst, digits...)
	}
	dst = append(dst, digits[0])
	if len(digits) > 1 {
		dst = append(append(dst, '.'), digits[1:]...)
	}
	dst = append(dst, 'e')
	if point > 0 {
		dst = append(dst, '+')
	}
	return strconv.AppendInt(dst, point-1, 10)
}

func appendZeros(dst []byte, n int64) []byte {
	for range n {
		dst = append(dst, '0')
	}
	return dst
}
