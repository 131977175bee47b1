// Light or dark, as the system has it or the button asks; draws now and at every change.

function followTheme(button, redraw) {
  const dark = window.matchMedia('(prefers-color-scheme: dark)');
  function setTheme(name) { document.documentElement.dataset.theme = name; redraw(); }
  button.addEventListener('click', () =>
    setTheme(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark'));
  dark.addEventListener('change', event => setTheme(event.matches ? 'dark' : 'light'));
  window.addEventListener('resize', redraw);
  setTheme(dark.matches ? 'dark' : 'light');
}
