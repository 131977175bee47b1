// A button for each joint; the function that it returns marks the one that is shown.

function makeTabs(place, names, show) {
  const buttons = names.map((name, i) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = name;
    button.addEventListener('click', () => show(i));
    return button;
  });
  place.replaceChildren(...buttons);
  return shown => buttons.forEach(
    (button, i) => button.setAttribute('aria-pressed', String(i === shown)));
}
