//# top: an include that is not there
#include "nothing.p4" //! PREPROCESSOR
//# top: an include of the system that is not there
#include <nothing.p4> //! PREPROCESSOR
//# top: an include without a name
#include //! PREPROCESSOR
//# top: #error
#error stop here //! PREPROCESSOR
//# top: #if left open
#if 1 //! PREPROCESSOR
const bit<8> k = 1;
//# top: #ifdef left open
#ifdef A //! PREPROCESSOR
//# top: #endif without #if
#endif //! PREPROCESSOR
//# top: #else without #if
#else //! PREPROCESSOR
//# top: #elif without #if
#elif 1 //! PREPROCESSOR
//# top: #else twice
#if 1
#else
#else //! PREPROCESSOR
#endif
//# top: #elif behind #else
#if 1
#else
#elif 1 //! PREPROCESSOR
#endif
//# top: #define without a name
#define //! PREPROCESSOR
//# top: #define of a number
#define 5 6 //! PREPROCESSOR
//# top: #define of a broken list of parameters
#define F(a, 1) a //! PREPROCESSOR
//# top: #define of a list that is left open
#define F(a //! PREPROCESSOR
//# top: #ifdef without a name
#ifdef //! PREPROCESSOR
#endif
//# top: #undef without a name
#undef //! PREPROCESSOR
//# top: #if without a condition
#if //! PREPROCESSOR
#endif
//# top: #if with a broken condition
#if (1 + //! PREPROCESSOR
#endif
//# top: #if that divides by zero
#if 1 / 0 //! PREPROCESSOR
#endif
//# top: a macro with too few arguments
#define F(a, b) a + b
const int k = F(1); //! PREPROCESSOR
//# top: a macro with too many arguments
#define F(a) a
const int k = F(1, 2); //! PREPROCESSOR
//# top: a macro's call left open
#define F(a) a
const int k = F(1; //! PREPROCESSOR
//# top: ## at the start of a macro
#define F(a) ## a //! PREPROCESSOR
//# top: ## at the end of a macro
#define F(a) a ## //! PREPROCESSOR
//# top: an error in a macro's text is told where the macro is used
#define WRONG true
const bit<8> k = WRONG; //! TYPE
//# top: an error behind a conditional part is told on its line
#if 0
const bit<8> a = true;
#endif
const bit<8> k = true; //! TYPE
//# top: an unknown macro is an unknown name
const bit<8> k = NOTHING; //! NAME
//# top: a macro of a function without its arguments is a name
#define F(a) a
const bit<8> k = F; //! NAME
